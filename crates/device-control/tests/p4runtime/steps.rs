//! Batches over several steps, in a rack whose helpers divide the flows: what each device is asked for, and in which order it is undone.

use crate::histories::SHARDED;
use crate::parts::compiled_text;
use crate::setup::{CPU, maker, sharded, write_request};
use crate::spares::{Reach, flow, ids_of};
use base_time::Duration;
use controller::{Ask, Call, DeviceId};
use device_control::{Channel, Maker, Passage, RackSwitch, Splitter};
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;

/// The devices that divide the flows.
const HELPERS: [usize; 3] = [1, 2, 3];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Write,
    /// For all that the device holds, before it is repaired.
    Holdings,
}

/// Notes what devices are asked for.
#[derive(Default)]
struct Noted {
    asked: Vec<(usize, Asked)>,
    /// The write with this number to this device goes wrong.
    fault: Option<(usize, usize, Passage)>,
}

impl Noted {
    fn of(&self, device: usize) -> Vec<Asked> {
        self.asked.iter().filter(|(at, _)| *at == device).map(|(_, asked)| *asked).collect()
    }
}

impl Channel for Noted {
    fn pass(&mut self, device: DeviceId, ask: &Ask) -> Passage {
        let asked = match ask {
            Ask::Write(_) => Asked::Write,
            Ask::Holdings(_) => Asked::Holdings,
            _ => return Passage::Through,
        };
        self.asked.push((device.0, asked));
        let writes = self.of(device.0).into_iter().filter(|asked| *asked == Asked::Write).count();
        let is_it = |(at, number, _): &mut (usize, usize, Passage)| (*at, *number) == (device.0, writes);
        self.fault.take_if(is_it).map_or(Passage::Through, |(.., passage)| passage)
    }
}

fn write(reach: &mut Reach<Noted>, atomicity: &str, updates: &[String]) -> Result<(), Status> {
    let updates: Vec<&str> = updates.iter().map(String::as_str).collect();
    reach.rack.channel.asked.clear();
    reach.call(Call::Write(Box::new(write_request(atomicity, &updates))))
}

/// A rack, two addresses whose flows are at different helpers, and these helpers. The first address has an entry.
fn divided() -> (Reach<Noted>, [u8; 2], [usize; 2]) {
    let maker = Maker { own: Some(compiled_text(SHARDED)), ..maker() };
    let splitter = Splitter::new(maker, sharded());
    let mut reach = Reach::over(RackSwitch::new(splitter, 1, 1_000_000_000, Some(CPU), Noted::default()));
    for address in 1..=50 {
        reach.packet(address);
    }
    reach.wait(Duration::from_ms(300));
    // The helper in use is written to last.
    let mut last = |address: u8| {
        assert_eq!(write(&mut reach, "ROLLBACK_ON_ERROR", &[update("INSERT", address, 9)]), Ok(()));
        let (device, _) = reach.rack.channel.asked.last().expect("it was written");
        *device
    };
    let first = last(1);
    let second = (2..50).map(|address| (address, last(address))).find(|(_, helper)| *helper != first);
    let (address, second) = second.expect("another helper has flows, too");
    for other in 2..=address {
        assert_eq!(write(&mut reach, "ROLLBACK_ON_ERROR", &[update("DELETE", other, 9)]), Ok(()));
    }
    (reach, [1, address], [first, second])
}

fn update(how: &str, address: u8, value: u8) -> String {
    flow(ids_of(SHARDED), how, address, value)
}

/// The second flow's entry may need the room of the first one's; then the first one has an entry again.
fn batch([first, second]: [u8; 2]) -> [String; 3] {
    [update("DELETE", first, 9), update("INSERT", second, 5), update("INSERT", first, 6)]
}

/// An entry is there again only after what replaced it has gone.
#[test]
fn steps_are_undone_the_last_one_first() {
    let (mut reach, addresses, helpers) = divided();
    reach.rack.channel.fault =
        Some((helpers[1], 3, Passage::Refused(Status::new(Code::ResourceExhausted, "not now"))));
    let refused = write(&mut reach, "ROLLBACK_ON_ERROR", &batch(addresses)).expect_err("a device refuses");
    assert_eq!(refused.details[1].canonical_code, Code::ResourceExhausted as i32, "{refused:?}");
    let asked = &reach.rack.channel.asked;
    assert!(asked.iter().all(|(_, asked)| *asked == Asked::Write), "no device has to be repaired: {asked:?}");
    assert_eq!(addresses.map(|address| reach.packet(address)), [9, 7]);
    assert_eq!(write(&mut reach, "ROLLBACK_ON_ERROR", &batch(addresses)), Ok(()));
    assert_eq!(addresses.map(|address| reach.packet(address)), [6, 5]);
}

/// Such a device is repaired, which undoes the earlier steps as well.
#[test]
fn a_device_that_may_have_done_a_step_is_not_asked_to_undo_others() {
    let (mut reach, addresses, helpers) = divided();
    reach.rack.channel.fault = Some((helpers[1], 3, Passage::AnswerLost));
    assert!(write(&mut reach, "ROLLBACK_ON_ERROR", &batch(addresses)).is_err());
    let asked = reach.rack.channel.of(helpers[1]);
    assert_eq!(asked[..4], [Asked::Write, Asked::Write, Asked::Write, Asked::Holdings], "{asked:?}");
    reach.wait(Duration::from_ms(1_000));
    assert!(reach.rack.stale().is_empty());
    assert_eq!(addresses.map(|address| reach.packet(address)), [9, 7]);
}

/// The repair of a device in a step of a batch that goes forward brings later steps, too: they are not done there twice.
#[test]
fn a_batch_that_goes_forward_repairs_a_device_once() {
    for number in 1..=3 {
        for passage in [Passage::AskLost, Passage::AnswerLost] {
            let (mut reach, addresses, helpers) = divided();
            reach.rack.channel.asked.clear();
            reach.rack.channel.fault = Some((helpers[1], number, passage.clone()));
            let batch = batch(addresses);
            let updates: Vec<&str> = batch.iter().map(String::as_str).collect();
            let request = write_request("ROLLBACK_ON_ERROR", &updates);
            assert_eq!(reach.call(Call::Enforce(Box::new(request))), Ok(()), "{number}, {passage:?}");
            assert!(reach.rack.channel.fault.is_none() && reach.rack.stale().is_empty());
            let asked = reach.rack.channel.of(helpers[1]).into_iter();
            let writes = asked.filter(|asked| *asked == Asked::Write).count();
            assert_eq!(writes, number, "{passage:?}: nothing after its repair");
            assert_eq!(addresses.map(|address| reach.packet(address)), [6, 5], "{number}, {passage:?}");
        }
    }
}

/// Packets wait, so no device has to be before another one.
#[test]
fn a_batch_that_packets_wait_for_has_one_step() {
    let (mut reach, addresses, _) = divided();
    let writes = |reach: &Reach<Noted>| HELPERS.map(|helper| reach.rack.channel.of(helper).len());
    assert_eq!(write(&mut reach, "DATAPLANE_ATOMIC", &batch(addresses)), Ok(()));
    assert_eq!(writes(&reach), [1; 3]);
    assert_eq!(addresses.map(|address| reach.packet(address)), [6, 5]);
    let back = [update("DELETE", addresses[1], 5), update("MODIFY", addresses[0], 9)];
    assert_eq!(write(&mut reach, "ROLLBACK_ON_ERROR", &back), Ok(()));
    assert_ne!(writes(&reach), [1; 3]);
}
