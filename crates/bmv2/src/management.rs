//! Methods about the switch itself, and the service `simple_switch`: mirroring sessions, times, queues.

use crate::call::{Answer, Args, VOID, code, declared, unable, why};
use crate::catalog::{Named, find};
use crate::multicast::{replica, replica_of};
use crate::services::{Services, updated};
use crate::switch::Switch;
use crate::wire::{Type, Value};
use base_time::Duration;
use control_writes::Crc;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::packet_replication_engine_entry::Type as Pre;
use p4runtime_proto::p4::v1::{
    CloneSessionEntry, MulticastGroupEntry, PacketReplicationEngineEntry, Replica, entity::Entity as Of,
    update,
};
use p4runtime_proto::to_text;

/// Codes of exceptions that have one for everything here.
const DEV_MGR_ERROR: i32 = 1;
const INVALID_CALCULATION_NAME: i32 = 1;
const CONFIG_SWAP_DISABLED: i32 = 1;
const SESSION_NOT_FOUND: i32 = 1;
const INVALID_RESOURCE_TYPE: i32 = 0;
const INVALID_RESOURCE_NAME: i32 = 1;
const INVALID_LIST_ID: i32 = 1;
const LEARN_ERROR: i32 = 3;

impl<S: Switch> Services<S> {
    pub(crate) fn management(&mut self, method: &str, args: &Args<'_>) -> Option<Answer> {
        const NO_KEY: &str = "programs have no Toeplitz hashes";
        Some(match method {
            "bm_get_config" => Ok(Value::text(self.config.clone())),
            "bm_get_config_md5" => Ok(Value::String(md5::compute(self.config.as_bytes()).0.to_vec())),
            "bm_mgmt_get_info" => {
                let mut about = vec![
                    (1, Value::I64(i64::try_from(self.about.device_id).unwrap_or(i64::MAX))),
                    (2, Value::I32(self.about.thrift_port.into())),
                ];
                about
                    .extend(self.about.notifications.iter().map(|address| (3, Value::text(address.clone()))));
                Ok(Value::Struct(about))
            }
            "bm_reset_state" => self.reset_state(),
            "bm_get_id_from_name" => self.id_from_name(args),
            "bm_dev_mgr_show_ports" => self.show_ports(),
            "bm_dev_mgr_add_port" => self.add_port(args),
            "bm_dev_mgr_remove_port" => self.remove_port(args),
            "bm_load_new_config" | "bm_swap_configs" => declared(
                CONFIG_SWAP_DISABLED,
                "a program is pushed by P4Runtime: `p4rack compile` writes what a controller sends",
            ),
            "bm_set_crc16_custom_parameters" => self.set_crc(args, 16),
            "bm_set_crc32_custom_parameters" => self.set_crc(args, 32),
            "bm_set_toeplitz_hash_key" => declared(INVALID_CALCULATION_NAME, NO_KEY),
            "bm_learning_ack"
            | "bm_learning_ack_buffer"
            | "bm_learning_set_timeout"
            | "bm_learning_set_buffer_size" => self.learning(method, args),
            "bm_serialize_state" => self.serialize_state(),
            _ => return None,
        })
    }

    /// The state as Protobuf text, which `--restore-state` and `p4rack ctl restore` read.
    fn serialize_state(&mut self) -> Answer {
        let state = self.switch.state().or_else(|status| unable(why(&status)))?;
        match to_text(&state) {
            Ok(text) => Ok(Value::text(text)),
            Err(error) => unable(error.to_string()),
        }
    }

    /// Entries, groups and sessions go; registers, counters and default actions are reset.
    fn reset_state(&mut self) -> Answer {
        for table in self.info.tables.clone() {
            let entries = self.entries(&table)?.into_iter().filter(|entry| !entry.is_const);
            let deletions = entries.map(|entry| {
                let key = p4runtime_proto::p4::v1::TableEntry {
                    action: None,
                    idle_timeout_ns: 0,
                    time_since_last_hit: None,
                    ..entry
                };
                updated(update::Type::Delete, Of::TableEntry(key))
            });
            let deletions: Vec<_> = deletions.collect();
            self.switch.write(deletions).or_else(|status| unable(why(&status)))?;
            if table.const_default_action_id == 0 && !table.match_fields.is_empty() {
                let default = p4runtime_proto::p4::v1::TableEntry {
                    table_id: table.id(),
                    is_default_action: true,
                    ..Default::default()
                };
                self.write(update::Type::Modify, Of::TableEntry(default))
                    .or_else(|status| unable(why(&status)))?;
            }
        }
        let groups = Pre::MulticastGroupEntry(MulticastGroupEntry::default());
        let sessions = Pre::CloneSessionEntry(CloneSessionEntry::default());
        // Groups before their members, which are in use until then.
        for query in [
            Of::ActionProfileGroup(Default::default()),
            Of::ActionProfileMember(Default::default()),
            Of::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(sessions) }),
            Of::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(groups) }),
        ] {
            let found = self.read(query).or_else(|status| unable(why(&status)))?;
            let deletions = found.into_iter().map(|of| updated(update::Type::Delete, of)).collect();
            self.switch.write(deletions).or_else(|status| unable(why(&status)))?;
        }
        self.switch.reset().or_else(|status| unable(why(&status)))?;
        (self.handles, self.nodes) = Default::default();
        self.forget_digests();
        VOID
    }

    /// Acknowledgements and settings of digests for subscribers; those of P4Runtime's streams are apart.
    fn learning(&mut self, method: &str, args: &Args<'_>) -> Answer {
        let list = args.number(2)?;
        let digests = i64::try_from(self.info.digests.len()).unwrap_or(i64::MAX);
        if !(1..=digests).contains(&list) {
            return declared(INVALID_LIST_ID, format!("there is no list {list} of digests"));
        }
        let (list, value) = (list as i32, args.number(3)?);
        let samples = match method {
            "bm_learning_ack" => {
                let of = |sample: &Value| match sample {
                    Value::I32(sample) => Some(*sample),
                    _ => None,
                };
                Some(args.list(4)?.iter().filter_map(of).collect::<Vec<i32>>())
            }
            _ => None,
        };
        let done = self.switch.learning(&mut |learning| match method {
            "bm_learning_set_timeout" => {
                learning.set_timeout(list, Duration::from_ms(u64::try_from(value).unwrap_or(0)));
                None
            }
            "bm_learning_set_buffer_size" => {
                learning.set_buffer_size(list, usize::try_from(value).unwrap_or(1))
            }
            _ => {
                learning.acknowledge(list, value as u64, samples.as_deref());
                None
            }
        });
        match done {
            Some(()) => VOID,
            None => declared(LEARN_ERROR, "the switch publishes no digests: it needs --notifications-addr"),
        }
    }

    /// Numbers are signed in Thrift and unsigned in a CRC.
    fn set_crc(&mut self, args: &Args<'_>, width: u32) -> Answer {
        let (name, config) = (args.text(2)?, args.fields(3)?);
        let word = |id| config.number(id).map(|number| number as u32 & (u32::MAX >> (32 - width)));
        let to = Crc {
            polynomial: word(1)?,
            initial: word(2)?,
            final_xor: word(3)?,
            reflect_data: config.bool(4)?,
            reflect_remainder: config.bool(5)?,
        };
        self.switch
            .set_crc(name, width, to)
            .or_else(|status| declared(INVALID_CALCULATION_NAME, why(&status)))?;
        VOID
    }

    fn id_from_name(&mut self, args: &Args<'_>) -> Answer {
        let (kind, name) = (args.number(2)?, args.text(3)?);
        let info = &self.info;
        let id = match kind {
            0 => find(&info.tables, name).map(Named::id),
            1 => find(&info.action_profiles, name).map(Named::id),
            2 => find(&info.counters, name).map(Named::id),
            3 => find(&info.meters, name).map(Named::id),
            4 => find(&info.registers, name).map(Named::id),
            // Learning lists are numbered in the order of the P4Info.
            5 => find(&info.digests, name)
                .and_then(|digest| (1..).zip(&info.digests).find(|(_, of)| of.id() == digest.id()))
                .map(|(list, _)| list),
            _ => return declared(INVALID_RESOURCE_TYPE, format!("there are no resources of kind {kind}")),
        };
        match id {
            Some(id) => Ok(Value::I32(id as i32)),
            None => declared(INVALID_RESOURCE_NAME, format!("there is no `{name}`")),
        }
    }

    fn show_ports(&mut self) -> Answer {
        let ports = self.switch.ports().or_else(|status| declared(DEV_MGR_ERROR, why(&status)))?;
        let port = |port: crate::switch::Port| {
            Value::Struct(vec![
                (1, Value::I32(port.number as i32)),
                (2, Value::text(port.name)),
                (3, Value::Bool(port.is_up)),
                (4, Value::Map(Type::String, Type::String, vec![])),
            ])
        };
        Ok(Value::List(Type::Struct, ports.into_iter().map(port).collect()))
    }

    fn add_port(&mut self, args: &Args<'_>) -> Answer {
        let (interface, number) = (args.text(1)?, args.index(2)?);
        if args.text(3).is_ok_and(|path| !path.is_empty()) {
            self.switch
                .note("bm_dev_mgr_add_port", "captures of ports are set by --pcap when the switch starts");
        }
        self.switch.add_port(number, interface).or_else(|status| declared(DEV_MGR_ERROR, why(&status)))?;
        VOID
    }

    fn remove_port(&mut self, args: &Args<'_>) -> Answer {
        let number = args.index(1)?;
        self.switch.remove_port(number).or_else(|status| declared(DEV_MGR_ERROR, why(&status)))?;
        VOID
    }

    /// The service `simple_switch`.
    pub(crate) fn simple_switch(&mut self, method: &str, args: &Args<'_>) -> Option<Answer> {
        Some(match method {
            "mirroring_session_add" => self.set_session(args),
            "mirroring_session_delete" => self.delete_session(args),
            "mirroring_session_get" => self.get_session(args),
            "mirroring_mapping_add" => self.map_session(args),
            // The old call answers by a number instead of an exception.
            "mirroring_mapping_delete" => {
                Ok(Value::I32(if self.delete_session(args).is_ok() { 0 } else { 1 }))
            }
            "mirroring_mapping_get_egress_port" => {
                let port = args.index(1).and_then(|session| self.session(session));
                Ok(Value::I32(
                    port.ok()
                        .flatten()
                        .and_then(|replicas| replicas.first().map(replica_of))
                        .map_or(-1, |(port, _)| port as i32),
                ))
            }
            "set_egress_priority_queue_depth"
            | "set_egress_queue_depth"
            | "set_all_egress_queue_depths"
            | "set_egress_priority_queue_rate"
            | "set_egress_queue_rate"
            | "set_all_egress_queue_rates" => self.set_queues(method, args),
            "get_time_elapsed_us" => Ok(Value::I64(self.switch.times_us().0)),
            "get_time_since_epoch_us" => Ok(Value::I64(self.switch.times_us().1)),
            _ => return None,
        })
    }

    /// Port and priority come first, if the method names them, and then the limit.
    fn set_queues(&mut self, method: &str, args: &Args<'_>) -> Answer {
        let (port, priority) = match method {
            _ if method.starts_with("set_all_") => (None, None),
            _ if method.contains("_priority_") => (Some(args.index(1)?), Some(args.index(2)?)),
            _ => (Some(args.index(1)?), None),
        };
        let limit = 1 + i16::from(port.is_some()) + i16::from(priority.is_some());
        let packets = args.number(limit)?;
        let set = match u64::try_from(packets) {
            Err(_) => return unable(format!("{packets} packets: the number must not be negative")),
            Ok(packets) if method.contains("_rate") => self.switch.set_queue_rate(port, priority, packets),
            Ok(packets) => {
                let packets = u32::try_from(packets).unwrap_or(u32::MAX);
                self.switch.set_queue_depth(port, priority, packets)
            }
        };
        set.or_else(|status| unable(why(&status)))?;
        Ok(Value::I32(0))
    }

    fn session(&mut self, session_id: u32) -> Answer<Option<Vec<Replica>>> {
        let query = CloneSessionEntry { session_id, ..CloneSessionEntry::default() };
        let query = PacketReplicationEngineEntry { r#type: Some(Pre::CloneSessionEntry(query)) };
        match self.read(Of::PacketReplicationEngineEntry(query)) {
            Err(status) if code(&status) == Code::NotFound => Ok(None),
            Err(status) => unable(why(&status)),
            Ok(found) => Ok(found.into_iter().find_map(|of| match of {
                Of::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
                    r#type: Some(Pre::CloneSessionEntry(session)),
                }) => Some(session.replicas),
                _ => None,
            })),
        }
    }

    fn put_session(&mut self, session_id: u32, replicas: Vec<Replica>) -> Answer {
        let how = match self.session(session_id)? {
            Some(_) => update::Type::Modify,
            None => update::Type::Insert,
        };
        let session = CloneSessionEntry { session_id, replicas, ..CloneSessionEntry::default() };
        let entry = PacketReplicationEngineEntry { r#type: Some(Pre::CloneSessionEntry(session)) };
        self.write(how, Of::PacketReplicationEngineEntry(entry)).or_else(|status| unable(why(&status)))?;
        VOID
    }

    /// A session goes to a port, or to the replicas that a multicast group has now.
    fn set_session(&mut self, args: &Args<'_>) -> Answer {
        let (session, config) = (args.index(1)?, args.fields(2)?);
        let replicas = match (config.optional_number(1)?, config.optional_number(2)?) {
            (_, Some(group)) => {
                let query = MulticastGroupEntry {
                    multicast_group_id: group as u32,
                    ..MulticastGroupEntry::default()
                };
                let query = PacketReplicationEngineEntry { r#type: Some(Pre::MulticastGroupEntry(query)) };
                let found = self
                    .read(Of::PacketReplicationEngineEntry(query))
                    .or_else(|status| unable(why(&status)))?;
                found.into_iter().find_map(|of| match of {
                    Of::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
                        r#type: Some(Pre::MulticastGroupEntry(group)),
                    }) => Some(group.replicas),
                    _ => None,
                })
            }
            (Some(port), None) => Some(vec![replica(port as u32, 0)]),
            (None, None) => None,
        };
        match replicas {
            Some(replicas) => self.put_session(session, replicas),
            None => unable("a session needs a port, or a multicast group that exists"),
        }
    }

    fn map_session(&mut self, args: &Args<'_>) -> Answer {
        let (session, port) = (args.index(1)?, args.index(2)?);
        self.put_session(session, vec![replica(port, 0)])?;
        Ok(Value::I32(0))
    }

    fn delete_session(&mut self, args: &Args<'_>) -> Answer {
        let session_id = args.index(1)?;
        let session = CloneSessionEntry { session_id, ..CloneSessionEntry::default() };
        let entry = PacketReplicationEngineEntry { r#type: Some(Pre::CloneSessionEntry(session)) };
        self.write(update::Type::Delete, Of::PacketReplicationEngineEntry(entry)).or_else(
            |status| match code(&status) {
                Code::NotFound => declared(SESSION_NOT_FOUND, why(&status)),
                _ => unable(why(&status)),
            },
        )?;
        VOID
    }

    fn get_session(&mut self, args: &Args<'_>) -> Answer {
        let session = args.index(1)?;
        match self.session(session)?.and_then(|replicas| replicas.first().map(replica_of)) {
            Some((port, _)) => Ok(Value::Struct(vec![(1, Value::I32(port as i32))])),
            None => declared(SESSION_NOT_FOUND, format!("there is no session {session}")),
        }
    }
}
