//! The packet generator of TNA and T2NA in virtual time: when its packets come, and when they do not.

use crate::common;

use base_time::Time;
use common::Test;
use dataplane_api::Device;
use device::{Driver, Options, Switch};

/// Triggers.
const ONE_SHOT: u128 = 1;
const PERIODIC: u128 = 2;
const PORT_DOWN: u128 = 3;

fn switch(program: &str) -> Switch {
    Test::file(program).switch(Options::default()).expect("a device")
}

fn set(switch: &mut Switch, register: &str, at: u64, number: u128) -> Result<(), String> {
    let like = switch.register_value(register, at).expect("a register");
    let cell = ir_value::numbers::unpacked(&like, number);
    switch.register_set(register, at, cell).map_err(|error| error.message)
}

/// Batches and packets of a batch, and the gaps before the next.
fn batches(switch: &mut Switch, [batches, packets, batch_gap, packet_gap]: [u128; 4]) {
    let cell = (batches - 1) << 80 | (packets - 1) << 64 | batch_gap << 32 | packet_gap;
    set(switch, "$PKTGEN_BATCH", 3, cell).expect("settings");
}

/// Application 3 sends the first 8 bytes of the buffer.
fn app(switch: &mut Switch, trigger: u128, port: u128, timer: u128) -> Result<(), String> {
    set(switch, "$PKTGEN_APP", 3, trigger << 80 | port << 64 | 8 << 32 | timer)
}

/// Times in nanoseconds, batches (or ports), and packets.
fn sent(driver: &mut Driver<'_>) -> Vec<(u64, u8, u8)> {
    let sent = driver.take_sent();
    sent.iter().map(|(at, output)| (at.as_ns(), output.frame[3], output.frame[5])).collect()
}

fn ns(ns: u64) -> Time {
    Time::from_ps(1000 * ns)
}

fn counts(switch: &Switch) -> u128 {
    let cell = switch.register_value("$PKTGEN_COUNT", 3).expect("counts");
    ir_value::numbers::packed(&cell).expect("numbers").0
}

#[test]
fn gaps_are_those_of_the_chip() {
    for (program, port, begins) in [("tna_pktgen", 68, [100, 20]), ("t2na_pktgen", 6, [120, 25])] {
        for (gap, second) in [100, 5].into_iter().zip(begins) {
            let mut switch = switch(program);
            batches(&mut switch, [2, 3, gap, 10]);
            app(&mut switch, ONE_SHOT, port, 1000).expect("settings");
            let mut driver = Driver::new(&mut switch);
            driver.finish();
            let packets = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)];
            let wanted = packets.map(|(packet, batch): (u8, u8)| {
                (1000 + u64::from(packet) * 10 + u64::from(batch) * second, batch, packet)
            });
            assert_eq!(sent(&mut driver), wanted, "{program} {gap}");
            assert_eq!(counts(&switch), 1 << 64 | 2 << 32 | 6);
        }
    }
}

/// The timer begins when the settings are written; a trigger is lost while the packets of the one before still come, and the
/// periods that a late device has missed are lost.
#[test]
fn periods() {
    let mut switch = switch("tna_pktgen");
    batches(&mut switch, [1, 3, 0, 80]);
    let mut driver = Driver::new(&mut switch);
    driver.advance(ns(500));
    app(driver.switch(), PERIODIC, 68, 100).expect("settings");
    driver.advance(ns(850));
    let times = |at: u64| [(at, 0, 0), (at + 80, 0, 1), (at + 160, 0, 2)];
    assert_eq!(sent(&mut driver)[..], [&times(600)[..], &times(800)[..1]].concat());
    driver.finish();
    assert_eq!(sent(&mut driver), [], "a periodic timer does not keep a run alive");
    // One tick for everything: the rest of a burst. The first trigger comes too early, the others are missed.
    let queued = switch.tick(ns(1850));
    assert_eq!(switch.drain(queued, ns(1850)).len(), 2);
    assert_eq!(switch.deadline(), Some(ns(1900)));
    let queued = switch.tick(ns(1900));
    assert_eq!(switch.drain(queued, ns(1900)).len(), 1);
    assert_eq!(counts(&switch), 3 << 64 | 2 << 32 | 7);
}

#[test]
fn new_settings_end_a_burst() {
    let mut switch = switch("tna_pktgen");
    batches(&mut switch, [1, 5, 0, 100]);
    app(&mut switch, ONE_SHOT, 68, 1000).expect("settings");
    let mut driver = Driver::new(&mut switch);
    driver.advance(ns(1150));
    assert_eq!(sent(&mut driver).len(), 2);
    app(driver.switch(), 0, 0, 0).expect("settings");
    driver.advance(ns(9000));
    assert_eq!(sent(&mut driver), []);
    // Settings of batches are read when a burst begins.
    app(driver.switch(), ONE_SHOT, 68, 1000).expect("settings");
    driver.advance(ns(10_000));
    batches(driver.switch(), [1, 1, 0, 0]);
    driver.finish();
    assert_eq!(sent(&mut driver).len(), 5);
    assert_eq!(switch.deadline(), None);
}

#[test]
fn a_port_that_goes_down() {
    let mut switch = switch("tna_pktgen");
    batches(&mut switch, [1, 2, 0, 50]);
    app(&mut switch, PORT_DOWN, 68, 0).expect("settings");
    let mut driver = Driver::new(&mut switch);
    driver.advance(ns(400));
    let down = |driver: &mut Driver<'_>, port, until| {
        driver.switch().link(port, false);
        driver.advance(ns(until));
        sent(driver)
    };
    // Application 3 is not application 7, whose packets the program reads as such.
    assert_eq!(down(&mut driver, 9, 500), [(400, 9, 0), (450, 9, 1)]);
    assert_eq!(down(&mut driver, 9, 600), [], "it was down before");
    driver.switch().link(9, true);
    driver.advance(ns(700));
    assert_eq!(sent(&mut driver), []);
    assert_eq!(down(&mut driver, 9, 800), [(700, 9, 0), (750, 9, 1)]);
    // A second port while the packets of the first still come.
    driver.switch().link(10, false);
    assert_eq!(down(&mut driver, 11, 900), [(800, 10, 0), (850, 10, 1)]);
}

/// The header that a program reads has the number of the port.
#[test]
fn a_port_is_in_the_header() {
    let mut switch = switch("tna_pktgen");
    let cell = PORT_DOWN << 80 | 68 << 64 | 8 << 32;
    set(&mut switch, "$PKTGEN_APP", 7, cell).expect("settings");
    switch.link(0x105, false);
    let queued = switch.tick(ns(5));
    let sent = switch.drain(queued, ns(5));
    assert_eq!((sent.len(), sent[0].port), (1, 2));
    assert_eq!(sent[0].frame[..6], [0, 7, 1, 5, 0, 0]);
}

/// As many packets as the settings can ask for, all at one time: a tick makes 256 of them.
#[test]
fn a_tick_is_bounded() {
    let mut switch = switch("tna_pktgen");
    batches(&mut switch, [1 << 16, 1 << 16, 0, 0]);
    app(&mut switch, ONE_SHOT, 68, 0).expect("settings");
    switch.tick(ns(0));
    let mut packets = 0;
    for _ in 0..5 {
        assert!(switch.deadline().is_some_and(|at| at <= ns(7)));
        let queued = switch.tick(ns(7));
        packets += queued.len();
        assert!((1..=256).contains(&queued.len()), "{}", queued.len());
    }
    assert!(packets > 1000, "{packets}");
    // Timers of a nanosecond that have expired for long.
    batches(&mut switch, [1, 1, 0, 0]);
    let mut driver = Driver::new(&mut switch);
    app(driver.switch(), PERIODIC, 68, 1).expect("settings");
    driver.advance(ns(1_000_000));
    assert!(driver.take_sent().len() <= 1000);
}

#[test]
fn settings_that_no_application_can_have() {
    let mut switch = switch("tna_pktgen");
    assert_eq!(app(&mut switch, 4, 68, 0), Err("the packet generator has no such trigger".to_string()));
    let port = app(&mut switch, ONE_SHOT, 512, 0).expect_err("it has 9 bits");
    assert_eq!(port, "port 512 does not fit into the 9 bits of a port");
    assert_eq!(switch.deadline(), None);
    // Beyond the buffer there is nothing.
    set(&mut switch, "$PKTGEN_APP", 3, ONE_SHOT << 80 | 68 << 64 | 0xffff << 48 | 0xffff << 32)
        .expect("settings");
    let mut driver = Driver::new(&mut switch);
    driver.finish();
    assert_eq!(sent(&mut driver), []);
    assert_eq!(switch.counters().created, 1);
}

/// A program that does not read the header has no generator.
#[test]
fn only_programs_that_read_its_packets_have_one() {
    assert!(switch("tna_paths").register_value("$PKTGEN_APP", 0).is_err());
    assert!(!switch("tna_paths").has_ticks());
    assert!(switch("tna_pktgen").has_ticks());
    assert!(switch("tna_pktgen").register_value("$PKTGEN_APP", 8).is_err());
    assert!(switch("t2na_pktgen").register_value("$PKTGEN_APP", 15).is_ok());
}
