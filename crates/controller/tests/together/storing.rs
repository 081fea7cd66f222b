//! Writes that wait until they are stored.

use crate::rig::{Passage, Rig, entry};
use base_time::Duration;
use controller::Ask;
use std::cell::Cell;
use std::rc::Rc;

const EVERYWHERE: &str = "table_entry { table_id: 5 }";

/// A device that has the write shows it as soon as frames are let in, and the next controller has what is stored.
#[test]
fn a_write_of_which_packets_see_no_part_is_stored_before_a_device_has_it() {
    for refuses in [false, true] {
        let mut rig = Rig::stored();
        assert!(!rig.controller.noted().is_empty(), "the program");
        rig.store(1);
        let is_let_in = Rc::new(Cell::new(false));
        let let_in = Rc::clone(&is_let_in);
        rig.channel = Box::new(move |device, ask| {
            let_in.set(let_in.get() || *ask == Ask::Release);
            let is_refused = refuses && device == 3 && matches!(ask, Ask::Write(_));
            if is_refused { Passage::Refused } else { Passage::Through }
        });
        let written = rig.write("DATAPLANE_ATOMIC", &[entry("INSERT", 5, 1, 1)]);
        let wait = |rig: &mut Rig| rig.run_until(rig.now + Duration::from_s(1));
        wait(&mut rig);
        let held = |rig: &Rig| (0..4).map(|device| rig.holds(device, EVERYWHERE).len()).sum::<usize>();
        assert_eq!((held(&rig), is_let_in.get()), (0, false));
        assert_eq!(rig.controller.noted().rows.len(), 1);
        rig.store(2);
        if refuses {
            wait(&mut rig);
            assert!(!is_let_in.get(), "it is stored that it is undone before packets come in");
            assert_eq!(rig.controller.noted().rows.values().cloned().collect::<Vec<_>>(), [None]);
            rig.store(3);
        }
        rig.settle();
        assert_eq!(rig.ended(written).is_err(), refuses);
        assert_eq!((held(&rig), is_let_in.get()), (if refuses { 0 } else { 4 }, true));
    }
}
