//! Messages that nobody honest sends: mutated bytes, and calls of every method with arguments of every type. Nothing panics, and what is half there is waited for.
//!
//! `P4RACK_ALL=1` does this for longer.

#![allow(clippy::disallowed_methods)]

use bmv2::wire::{Fields, Kind, Message, Type, Value, decode, encode};
use bmv2::{About, Calculation, Learning, Port, Services, Switch};
use control_writes::Crc;
use p4runtime_proto::from_text;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{Entity, Update};
use p4runtime_proto::p4rack::v1::SavedState;
use p4runtime_server::Status;

/// A table of each kind, a profile, and an object of each kind.
const INFO: &str = r#"
tables { preamble { id: 33554433 name: "I.routes" alias: "routes" }
  match_fields { id: 1 name: "hdr.ip.dst" bitwidth: 32 match_type: LPM }
  match_fields { id: 2 name: "hdr.ip.proto" bitwidth: 8 match_type: EXACT }
  action_refs { id: 16777217 } size: 64 }
tables { preamble { id: 33554434 name: "I.acl" alias: "acl" }
  match_fields { id: 1 name: "hdr.ip.src" bitwidth: 32 match_type: TERNARY }
  match_fields { id: 2 name: "port" bitwidth: 9 match_type: RANGE }
  action_refs { id: 16777217 } implementation_id: 285212673 size: 64 }
actions { preamble { id: 16777217 name: "I.forward" alias: "forward" }
  params { id: 1 name: "port" bitwidth: 9 } }
action_profiles { preamble { id: 285212673 name: "I.paths" alias: "paths" } table_ids: 33554434 with_selector: true size: 8 }
counters { preamble { id: 301989889 name: "I.seen" alias: "seen" } spec { unit: BOTH } size: 4 }
meters { preamble { id: 335544321 name: "I.rate" alias: "rate" } spec { unit: BYTES } size: 4 }
registers { preamble { id: 369098753 name: "I.cells" alias: "cells" } type_spec { bitstring { bit { bitwidth: 32 } } } size: 4 }
value_sets { preamble { id: 50331649 name: "P.types" alias: "types" } match { id: 1 bitwidth: 16 match_type: EXACT } size: 4 }
"#;

const METHODS: &str = "bm_counter_read bm_counter_reset_all bm_counter_write bm_dev_mgr_add_port bm_dev_mgr_show_ports bm_get_config \
bm_get_id_from_name bm_learning_ack bm_learning_ack_buffer bm_learning_set_timeout bm_learning_set_buffer_size bm_load_new_config bm_mc_get_entries bm_mc_mgrp_create bm_mc_mgrp_destroy bm_mc_node_associate \
bm_mc_node_create bm_mc_node_destroy bm_mc_node_update bm_mc_set_lag_membership bm_meter_array_set_rates bm_meter_get_rates \
bm_meter_set_rates bm_mgmt_get_info bm_mt_act_prof_add_member bm_mt_act_prof_create_group bm_mt_act_prof_add_member_to_group \
bm_mt_act_prof_get_members bm_mt_add_entry bm_mt_clear_entries bm_mt_delete_entry bm_mt_get_default_entry bm_mt_get_entries bm_mt_get_entry \
bm_mt_get_entry_from_key bm_mt_get_num_entries bm_mt_indirect_add_entry bm_mt_indirect_delete_entry bm_mt_indirect_modify_entry \
bm_mt_indirect_set_default_member bm_mt_indirect_ws_add_entry bm_mt_modify_entry bm_mt_read_counter bm_mt_reset_counters \
bm_mt_reset_default_entry bm_mt_set_default_action bm_mt_set_entry_ttl bm_mt_set_meter_rates bm_mt_write_counter bm_parse_vset_add \
bm_parse_vset_clear bm_parse_vset_get bm_register_read bm_register_read_all bm_register_reset bm_register_write bm_register_write_range \
bm_reset_state bm_serialize_state bm_set_crc16_custom_parameters bm_set_crc32_custom_parameters bm_swap_configs mirroring_session_add mirroring_session_get \
mirroring_session_delete set_egress_queue_depth get_time_elapsed_us none";

const SERVICES: [&str; 5] = ["standard", "simple_pre", "simple_pre_lag", "simple_switch", ""];

const NAMES: [&str; 12] = [
    "routes", "I.acl", "paths", "forward", "seen", "rate", "cells", "types", "default", "", "\u{0}", "I.none",
];

/// A switch that takes everything and holds nothing.
struct Nothing(P4Info, Learning);

impl Switch for Nothing {
    fn p4info(&mut self) -> Result<Option<P4Info>, Status> {
        Ok(Some(self.0.clone()))
    }
    fn write(&mut self, _: Vec<Update>) -> Result<(), Status> {
        Ok(())
    }
    fn read(&mut self, _: Vec<Entity>) -> Result<Vec<Entity>, Status> {
        Ok(vec![])
    }
    fn state(&mut self) -> Result<SavedState, Status> {
        Ok(SavedState::default())
    }
    fn reset(&mut self) -> Result<(), Status> {
        Ok(())
    }
    fn calculations(&mut self) -> Result<Vec<Calculation>, Status> {
        Ok(vec![Calculation { name: "calc".to_string(), algorithm: "crc16_custom".to_string() }])
    }
    fn set_crc(&mut self, _: &str, _: u32, _: Crc) -> Result<(), Status> {
        Ok(())
    }
    fn learning(&mut self, change: &mut dyn FnMut(&mut Learning) -> Option<Vec<u8>>) -> Option<()> {
        change(&mut self.1);
        Some(())
    }
    fn ports(&mut self) -> Result<Vec<Port>, Status> {
        Ok(vec![])
    }
    fn add_port(&mut self, _: u32, _: &str) -> Result<(), Status> {
        Ok(())
    }
    fn remove_port(&mut self, _: u32) -> Result<(), Status> {
        Ok(())
    }
    fn set_queue_depth(&mut self, _: Option<u32>, _: Option<u32>, _: u32) -> Result<(), Status> {
        Ok(())
    }
    fn set_queue_rate(&mut self, _: Option<u32>, _: Option<u32>, _: u64) -> Result<(), Status> {
        Ok(())
    }
    fn times_us(&mut self) -> (i64, i64) {
        (0, 0)
    }
    fn note(&mut self, _: &str, _: &str) {}
}

/// xorshift64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }

    fn number(&mut self) -> i64 {
        [0, 1, 2, 7, 255, 65_536, -1, i64::from(i32::MAX), i64::from(i32::MIN), i64::MIN, i64::MAX]
            [self.below(11)]
    }

    fn bytes(&mut self) -> Vec<u8> {
        match self.below(3) {
            0 => NAMES[self.below(NAMES.len())].as_bytes().to_vec(),
            1 => (0..self.below(9)).map(|_| self.below(256) as u8).collect(),
            _ => vec![0xff; self.below(40)],
        }
    }

    /// Arguments as a method could have them: fields count from 1.
    fn fields(&mut self, depth: usize) -> Fields {
        (1..self.below(7) as i16 + 1).map(|at| (at, self.value(depth))).collect()
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth < 4 { 11 } else { 7 }) {
            0 => Value::Bool(self.below(2) == 0),
            1 => Value::I8(self.number() as i8),
            2 => Value::I16(self.number() as i16),
            3 => Value::I32(self.number() as i32),
            4 => Value::I64(self.number()),
            5 => Value::Double([f64::NAN, f64::INFINITY, -1.0, 1e300][self.below(4)]),
            6 | 7 => Value::String(self.bytes()),
            8 => Value::Struct(self.fields(depth + 1)),
            9 => Value::List(
                Type::Struct,
                (0..self.below(4)).map(|_| Value::Struct(self.fields(depth + 1))).collect(),
            ),
            _ => Value::List(Type::String, (0..self.below(4)).map(|_| Value::String(self.bytes())).collect()),
        }
    }

    /// A method of its service, with names first, as most have them.
    fn call(&mut self) -> Message {
        let methods: Vec<&str> = METHODS.split_whitespace().collect();
        let method = methods[self.below(methods.len())];
        let service = match self.below(8) {
            0 => SERVICES[self.below(SERVICES.len())],
            _ if method.starts_with("bm_mc_") => "simple_pre_lag",
            _ if method.starts_with("bm_") => "standard",
            _ => "simple_switch",
        };
        let mut fields = self.fields(0);
        if self.below(4) > 0 {
            fields.retain(|(id, _)| *id > 2);
            fields.insert(0, (2, Value::text(NAMES[self.below(NAMES.len())])));
            fields.insert(0, (1, Value::I32(0)));
        }
        Message { kind: Kind::Call, name: format!("{service}:{method}"), sequence: 1, fields }
    }
}

fn rounds(short: usize) -> usize {
    if features::is_long() { short * 100 } else { short }
}

#[test]
fn no_call_makes_the_services_panic_and_each_has_one_reply() {
    let info: P4Info = from_text(INFO).expect("it is one");
    let mut services = Services::new(
        Nothing(info, Learning::new(1)),
        About { device_id: 1, thrift_port: 9090, notifications: None },
    );
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut replies = 0;
    for _ in 0..rounds(10_000) {
        let call = dice.call();
        let reply = services.handle(&call).expect("a call has a reply");
        assert_eq!(reply.sequence, call.sequence);
        assert!(matches!(reply.kind, Kind::Reply | Kind::Exception), "{call:?}");
        replies += usize::from(reply.kind == Kind::Reply);
        let bytes = encode(&reply);
        assert!(bytes.len() < 1 << 16, "{call:?}: {} bytes", bytes.len());
    }
    // Not all are refused at the first look.
    assert!(replies > 1000, "{replies}");
}

#[test]
fn mutated_bytes_are_a_message_or_refused_or_waited_for() {
    let mut dice = Dice(1);
    let mut seen = [0; 3];
    for _ in 0..rounds(10_000) {
        let mut bytes = encode(&dice.call());
        for _ in 0..=dice.below(4) {
            let at = dice.below(bytes.len());
            match dice.below(4) {
                0 => bytes[at] = dice.below(256) as u8,
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, [0xff, 0x7f, 0, 15, 12][dice.below(5)]),
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                bytes.push(0x80);
            }
        }
        match decode(&bytes) {
            Ok(Some((message, length))) => {
                seen[0] += 1;
                assert!(length <= bytes.len());
                // A message that was read is the same after it is written and read again; a bool may have been any byte.
                let again = encode(&message);
                let (second, _) = decode(&again).expect("it is one").expect("it is all there");
                assert_eq!(encode(&second), again);
            }
            Ok(None) => seen[1] += 1,
            Err(_) => seen[2] += 1,
        }
    }
    assert!(seen.iter().all(|count| *count > 200), "{seen:?}");
}
