//! Packets from captures: how often the file is read, and what becomes of one that ends too early.

use base_pcap::{Record, Writer};
use p4rack::run::feed::Feed;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn capture(packets: u64) -> Vec<u8> {
    let mut file = vec![];
    let mut writer = Writer::new(&mut file).expect("it begins");
    for nanos in 0..packets {
        writer.write(&Record { nanos, frame: vec![nanos as u8; 64], original: 64 }).expect("it is written");
    }
    file
}

/// Counts reads.
struct Counting<'f>(&'f [u8], Arc<AtomicUsize>);

impl Read for Counting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read(buffer)
    }
}

#[test]
fn captures_are_read_in_large_pieces() {
    let (file, reads) = (capture(10_000), Arc::new(AtomicUsize::new(0)));
    let mut feed = Feed::new(None);
    feed.capture("in.pcap", 1, Counting(&file, Arc::clone(&reads))).expect("it is one");
    let mut packets = 0;
    while feed.next().expect("it is whole").is_some() {
        packets += 1;
    }
    let reads = reads.load(Ordering::Relaxed);
    assert_eq!(packets, 10_000);
    assert!(reads <= 4 + 2 * file.len() / (1 << 16), "{reads} reads of {} bytes", file.len());
}

/// Before, a packet was taken from the file while the one before ran: the last whole one was lost.
#[test]
fn packets_before_a_cut_run() {
    let file = capture(3);
    let mut feed = Feed::new(None);
    feed.capture("in.pcap", 1, &file[..file.len() - 10]).expect("its first packet is whole");
    let firsts: Vec<u8> =
        (0..2).map(|_| feed.next().expect("it is whole").expect("it is there").bytes[0]).collect();
    assert_eq!(firsts, [0, 1]);
    let wrong = feed.next().expect_err("the third is cut");
    assert!(wrong.notes[0].contains("`in.pcap`: the file ends within a block"), "{wrong:?}");
    assert!(feed.next().expect("nothing is left").is_none());
}
