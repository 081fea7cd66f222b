//! Ports with captures of their frames, named as by BMv2: `INTERFACE_in.pcap` and `INTERFACE_out.pcap`.

use crate::batch::Batch;
use crate::outlet::Ends;
use crate::port::{Sink, Source, Wait};
use base_pcap::{Frame, Writer};
use base_time::Time;
use dataplane_api::Port;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use target_native::Packet;

/// A capture with the time of day of each frame.
struct Capture(Writer<BufWriter<File>>);

impl Capture {
    fn create(directory: &Path, name: &str, way: &str) -> Result<Capture, String> {
        let path = directory.join(format!("{name}_{way}.pcap"));
        let made = File::create(&path).and_then(|file| Writer::new(BufWriter::new(file)));
        made.map(Capture).map_err(|error| format!("`{}`: {error}", path.display()))
    }

    /// A frame that cannot be written is missing from the capture; it passes the port all the same.
    fn note(&mut self, frame: &[u8]) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let _ = self.0.frame(Frame::whole(u64::try_from(now).unwrap_or(u64::MAX), frame));
    }
}

struct RecordedSource(Box<dyn Source>, Capture);

struct RecordedSink(Box<dyn Sink>, Capture);

/// A port's two ends, recorded in `directory`.
pub(crate) fn recorded((source, sink): Ends, directory: &Path, name: &str) -> Result<Ends, String> {
    let source = source.map(|source| {
        let capture = Capture::create(directory, name, "in")?;
        Ok::<_, String>(Box::new(RecordedSource(source, capture)) as Box<dyn Source>)
    });
    let sink = sink.map(|sink| {
        let capture = Capture::create(directory, name, "out")?;
        Ok::<_, String>(Box::new(RecordedSink(sink, capture)) as Box<dyn Sink>)
    });
    Ok((source.transpose()?, sink.transpose()?))
}

impl Source for RecordedSource {
    fn request(&mut self) {
        self.0.request();
    }

    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()> {
        let before = batch.came();
        let received = self.0.receive(port, batch);
        let came = batch.came();
        for packet in batch.packets().get(before..came).unwrap_or_default() {
            self.1.note(packet.frame());
        }
        if let Some(long) = batch.long() {
            self.1.note(long);
        }
        received
    }

    fn wait(&mut self, waker: &Arc<mio::Waker>) -> Wait {
        // Readers of the file see the frames received so far.
        let _ = self.1.0.flush();
        self.0.wait(waker)
    }

    fn keeps(&self) -> bool {
        self.0.keeps()
    }

    fn is_up(&self) -> bool {
        self.0.is_up()
    }
}

impl Sink for RecordedSink {
    fn send(&mut self, packets: &mut [Packet], which: &[usize], now: Time) -> usize {
        // Before it is sent: buffers may be exchanged.
        which.iter().filter_map(|at| packets.get(*at)).for_each(|packet| self.1.note(packet.frame()));
        self.0.send(packets, which, now)
    }

    fn pass(&mut self) {
        self.0.pass();
    }

    fn ring(&mut self) {
        self.0.ring();
    }

    fn send_frame(&mut self, frame: &[u8], now: Time) -> bool {
        self.1.note(frame);
        self.0.send_frame(frame, now)
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.1.0.flush();
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cable::cable;
    use base_pcap::Reader;

    fn frames(path: &Path) -> Vec<Vec<u8>> {
        let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
        let mut all = vec![];
        while let Some(frame) = reader.read(|frame| frame.bytes.to_vec()).unwrap() {
            all.push(frame);
        }
        all
    }

    #[test]
    fn both_ways_are_recorded() {
        let directory = std::env::temp_dir().join(format!("recorded-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (here, mut there) = cable(4);
        let ends: Ends = (Some(Box::new(here.source)), Some(Box::new(here.sink)));
        let (source, sink) = recorded(ends, &directory, "s1-eth1").unwrap();
        let (mut source, mut sink) = (source.unwrap(), sink.unwrap());
        assert!(sink.send_frame(&[1; 60], Time::ZERO));
        sink.flush().unwrap();
        assert_eq!(frames(&directory.join("s1-eth1_out.pcap")), [[1; 60]]);
        assert!(there.sink.send_frame(&[2; 64], Time::ZERO));
        source.receive(1, &mut Batch::default()).unwrap();
        let poll = mio::Poll::new().unwrap();
        source.wait(&Arc::new(mio::Waker::new(poll.registry(), mio::Token(0)).unwrap()));
        assert_eq!(frames(&directory.join("s1-eth1_in.pcap")), [[2; 64]]);
        std::fs::remove_dir_all(&directory).unwrap();
        let why = recorded((Some(source), None), &directory, "a").err().unwrap();
        assert!(why.contains("a_in.pcap`: No such file"), "{why}");
    }
}
