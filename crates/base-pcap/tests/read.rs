//! Capture files of every kind, and files that are none.

use base_pcap::{LARGEST_BLOCK, Reader, Record, Writer};
use base_time::Rng;

/// A classic file made by hand.
fn classic(magic: u32, big: bool, link: u32, packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut file = word(magic).to_vec();
    file.extend([half(2), half(4)].concat());
    file.extend([word(0), word(0), word(65535), word(link)].concat());
    for (seconds, fraction, frame) in packets {
        let length = frame.len() as u32;
        file.extend([word(*seconds), word(*fraction), word(length), word(length)].concat());
        file.extend(*frame);
    }
    file
}

/// A block of a pcapng file.
fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = word(body.len() as u32 + 12);
    [word(kind).to_vec(), length.to_vec(), body, length.to_vec()].concat()
}

/// A pcapng file with one interface of that resolution, and a packet at `ticks`.
fn pcapng(big: bool, resolution: Option<u8>, ticks: u64, frame: &[u8]) -> Vec<u8> {
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let section = [word(0x1a2b_3c4d).to_vec(), half(1).to_vec(), half(0).to_vec(), vec![0xff; 8]].concat();
    let mut interface = [half(1).to_vec(), half(0).to_vec(), word(0).to_vec()].concat();
    if let Some(resolution) = resolution {
        interface.extend([half(9).to_vec(), half(1).to_vec(), vec![resolution, 0, 0, 0]].concat());
        interface.extend([0; 4]);
    }
    let length = word(frame.len() as u32);
    let packet = [word(0), word((ticks >> 32) as u32), word(ticks as u32), length, length].concat();
    let packet = [packet, frame.to_vec()].concat();
    [block(big, 0x0a0d_0d0a, &section), block(big, 1, &interface), block(big, 6, &packet)].concat()
}

/// The frames, then the error if there is one.
fn read(file: &[u8]) -> (Vec<Record>, Option<String>) {
    let reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (vec![], Some(error.to_string())),
    };
    let mut records = vec![];
    for record in reader {
        match record {
            Ok(record) => records.push(record),
            Err(error) => return (records, Some(error.to_string())),
        }
    }
    (records, None)
}

fn record(nanos: u64, frame: &[u8]) -> Record {
    Record { nanos, frame: frame.to_vec(), original: frame.len() as u32 }
}

#[test]
fn classic_files_of_both_resolutions_and_byte_orders() {
    for big in [false, true] {
        let micro = classic(0xa1b2_c3d4, big, 1, &[(1, 5, &[1, 2]), (2, 0, &[])]);
        assert_eq!(read(&micro), (vec![record(1_000_005_000, &[1, 2]), record(2_000_000_000, &[])], None));
        let nano = classic(0xa1b2_3c4d, big, 1, &[(1, 5, &[1, 2])]);
        assert_eq!(read(&nano), (vec![record(1_000_000_005, &[1, 2])], None));
    }
}

/// Eight bytes more stand in front of each frame.
#[test]
fn classic_files_of_the_modified_form() {
    let mut file = classic(0xa1b2_cd34, false, 1, &[]);
    for (seconds, frame) in [(1u32, [1u8, 2]), (2, [3, 4])] {
        file.extend([seconds, 5, 2, 2, 77, 78].map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    let records = vec![record(1_000_005_000, &[1, 2]), record(2_000_005_000, &[3, 4])];
    assert_eq!(read(&file), (records, None));
}

#[test]
fn pcapng_files_of_all_resolutions_and_byte_orders() {
    for big in [false, true] {
        let check = |resolution, ticks, nanos| {
            assert_eq!(
                read(&pcapng(big, resolution, ticks, &[7, 8, 9])),
                (vec![record(nanos, &[7, 8, 9])], None)
            );
        };
        check(None, 1_500_000, 1_500_000_000);
        check(Some(9), 1_500_000_000, 1_500_000_000);
        check(Some(0), 3, 3_000_000_000);
        check(Some(0x80 | 10), 1536, 1_500_000_000);
    }
}

/// Some cards and drivers keep the frame check sequence; files say so.
#[test]
fn frame_check_sequences_are_taken_off() {
    let frame = [1, 2, 3, 0xaa, 0xbb, 0xcc, 0xdd];
    for big in [false, true] {
        let file = classic(0xa1b2_3c4d, big, 0x2400_0001, &[(0, 5, &frame)]);
        assert_eq!(read(&file), (vec![record(5, &[1, 2, 3])], None));
        let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let section =
            [word(0x1a2b_3c4d).to_vec(), half(1).to_vec(), half(0).to_vec(), vec![0xff; 8]].concat();
        // `if_fcslen` says 32 bits; `epb_flags` of the second packet says 2 bytes.
        let described = [half(1), half(0)].concat();
        let fcslen = [half(13).to_vec(), half(1).to_vec(), vec![32, 0, 0, 0]].concat();
        let interface = [described, word(0).to_vec(), fcslen, vec![0; 4]].concat();
        let head = [word(0), word(0), word(0), word(7), word(7)].concat();
        let packet = [head, frame.to_vec(), vec![0]].concat();
        let flags = [half(2).to_vec(), half(4).to_vec(), word(2 << 5).to_vec(), vec![0; 4]].concat();
        let file = [
            block(big, 0x0a0d_0d0a, &section),
            block(big, 1, &interface),
            block(big, 6, &packet),
            block(big, 6, &[packet, flags].concat()),
        ];
        assert_eq!(read(&file.concat()), (vec![record(0, &[1, 2, 3]), record(0, &frame[..5])], None));
    }
}

#[test]
fn what_is_written_can_be_read() {
    let records = [record(12, &[1]), record(3_000_000_001, &[0; 1500]), record(u64::from(u32::MAX), &[])];
    let mut file = vec![];
    let mut writer = Writer::new(&mut file).unwrap();
    records.iter().for_each(|r| writer.write(r).unwrap());
    writer.flush().unwrap();
    assert_eq!(read(&file), (records.to_vec(), None));
}

/// A source that gives few bytes at a time.
struct Trickle<'f>(&'f [u8], Rng);

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let most = self.1.between(1, 40_000) as usize;
        let most = most.min(to.len());
        self.0.read(&mut to[..most])
    }
}

#[test]
fn frames_before_a_cut_are_whole_whatever_is_read_at_a_time() {
    let mut rng = Rng::new(11).split("cuts");
    for round in 0..300 {
        let largest = [80, 1500, 70_000, 300_000][rng.index(4)];
        let frames: Vec<Vec<u8>> = (0..rng.between(0, 30))
            .map(|number| vec![number as u8; rng.between(0, largest) as usize])
            .collect();
        let packets: Vec<(u32, u32, &[u8])> =
            frames.iter().enumerate().map(|(at, frame)| (7, at as u32, frame.as_slice())).collect();
        let mut file = classic(0xa1b2_3c4d, round % 2 == 0, 1, &packets);
        if rng.chance(7, 10) {
            file.truncate(rng.between(24, file.len() as u64) as usize);
        }
        let (mut end, mut whole) = (24, vec![]);
        for (seconds, nanos, frame) in packets {
            if end + 16 + frame.len() > file.len() {
                break;
            }
            end += 16 + frame.len();
            whole.push(record(u64::from(seconds) * 1_000_000_000 + u64::from(nanos), frame));
        }
        let mut reader = Reader::new(Trickle(&file, rng.split("pieces"))).unwrap();
        let read: Vec<Record> = reader.by_ref().map_while(Result::ok).collect();
        assert!(read == whole, "round {round}: {} frames, wanted {}", read.len(), whole.len());
        let mut reader = Reader::new(Trickle(&file, rng.split("pieces"))).unwrap();
        let error = reader.find_map(Result::err).map(|error| error.offset);
        assert_eq!(error, (end < file.len()).then_some(end as u64), "round {round}");
    }
}

#[test]
fn mistakes_name_their_place() {
    let error = |file: &[u8]| read(file).1.unwrap();
    assert_eq!(error(&[]), "the file is empty (at byte 0)");
    assert_eq!(error(b"packet 0 aa"), "this is neither a pcap nor a pcapng file (at byte 0)");
    let file = classic(0xa1b2_c3d4, false, 1, &[(0, 0, &[1, 2, 3, 4]), (0, 0, &[5, 6])]);
    assert_eq!(error(&file[..20]), "the file ends within its header (at byte 0)");
    assert_eq!(error(&file[..50]), "the file ends within a block (at byte 44)");
    let (records, end) = read(&file[..61]);
    assert_eq!((records.len(), end.unwrap().as_str()), (1, "the file ends within a block (at byte 44)"));
    let wlan = classic(0xa1b2_c3d4, false, 105, &[]);
    assert_eq!(error(&wlan), "the link type is 105 (IEEE 802.11): only 1 (Ethernet) is read (at byte 0)");
    let mut strange = pcapng(false, None, 0, &[1]);
    strange[56] = 9;
    assert_eq!(
        error(&strange),
        "this packet is of interface 9, which is not described before it (at byte 48)"
    );
}

#[test]
fn a_length_is_not_believed() {
    let mut file = classic(0xa1b2_c3d4, false, 1, &[(0, 0, &[1])]);
    file[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(read(&file).1.unwrap(), "the file ends within a block (at byte 24)");
    file.resize(LARGEST_BLOCK * 2, 0);
    assert_eq!(read(&file).1.unwrap(), "this block is longer than 16777216 bytes (at byte 24)");
    let mut file = classic(0xa1b2_c3d4, false, 1, &[(0, 0, &vec![3; 1 << 20])]);
    assert_eq!(read(&file).0.len(), 1, "long frames are read");
    file.truncate(1 << 19);
    assert_eq!(read(&file).1.unwrap(), "the file ends within a block (at byte 24)");
}

#[test]
fn changed_files_never_panic() {
    let mut rng = Rng::new(5).split("pcap");
    let files = [
        classic(0xa1b2_c3d4, false, 1, &[(1, 2, &[1; 20]), (3, 4, &[2; 30])]),
        classic(0xa1b2_3c4d, true, 1, &[(1, 2, &[1; 20])]),
        pcapng(false, Some(9), 77, &[1; 33]),
        pcapng(true, None, 77, &[1; 33]),
    ];
    for round in 0..20_000usize {
        let mut file = files[round % files.len()].clone();
        for _ in 0..rng.between(1, 4) {
            let place = rng.between(0, file.len() as u64 - 1) as usize;
            match rng.between(0, 2) {
                0 => file.truncate(place.max(1)),
                1 => file[place] = rng.between(0, 255) as u8,
                _ => file[place] ^= 1 << rng.between(0, 7),
            }
        }
        read(&file);
    }
}
