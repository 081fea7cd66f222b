//! BMv2's Thrift services beside P4Runtime: one store, by a client written from the protocol.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use agent::{Setup, Switch};
use base_diag::SourceMap;
use bmv2::wire::{Fields, Kind, Message, Type, Value, decode, encode};
use compiler::{Until, compile};
use p4rack::Disk;
use p4runtime_grpc::P4RuntimeClient;
use p4runtime_proto::p4::v1::{Entity, GetForwardingPipelineConfigRequest, ReadRequest, WriteRequest};
use p4runtime_proto::{from_text, to_text};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use tokio_stream::StreamExt;

/// A switch whose program has one of everything that a control plane can write.
pub struct Running {
    pub thrift: SocketAddr,
    grpc: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    pub fn start() -> Running {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../device-control/tests/p4runtime/all.p4");
        Running::start_with(path, |setup| setup)
    }

    /// With another program, and other settings.
    pub fn start_with(path: &str, with: impl FnOnce(Setup) -> Setup + Send + 'static) -> Running {
        let options = p4_syntax::Options::default();
        let compiled = compile(path, &Disk, &options, Until::Elaborated, &mut SourceMap::new());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let thrift = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (bound, address) = channel();
        let thread = std::thread::spawn(move || {
            let one = Switch::One(Some(compiled.program.unwrap()));
            let setup =
                Setup { thrift: Some(listener), device_id: 7, cpu_port: Some(510), ..Setup::new(one) };
            agent::run_until(|| async { drop(stopped.await) }, with(setup), |at| bound.send(at).unwrap())
                .unwrap();
        });
        Running { thrift, grpc: address.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    pub fn client(&self) -> Client {
        Client { stream: TcpStream::connect(self.thrift).unwrap(), sequence: 0 }
    }

    /// The id of an object with this name.
    pub fn id(&self, name: &str) -> u32 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let info = runtime.block_on(async {
            let mut client = P4RuntimeClient::connect(format!("http://{}", self.grpc)).await.unwrap();
            let request = GetForwardingPipelineConfigRequest { device_id: 7, ..Default::default() };
            client
                .get_forwarding_pipeline_config(request)
                .await
                .unwrap()
                .into_inner()
                .config
                .unwrap()
                .p4info
                .unwrap()
        });
        let tables = info.tables.into_iter().map(|table| table.preamble);
        let actions = info.actions.into_iter().map(|action| action.preamble);
        let profiles = info.action_profiles.into_iter().map(|profile| profile.preamble);
        let mut all = tables.chain(actions).chain(profiles).flatten();
        all.find(|preamble| preamble.name == name).unwrap().id
    }

    /// Writes an update as a P4Runtime controller.
    pub fn write(&self, update: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = P4RuntimeClient::connect(format!("http://{}", self.grpc)).await.unwrap();
            let hello = from_text("arbitration { device_id: 7 election_id { low: 1 } }").unwrap();
            let said = tokio_stream::once(hello).chain(tokio_stream::pending());
            let mut heard = client.stream_channel(said).await.unwrap().into_inner();
            heard.message().await.unwrap().unwrap();
            let write = format!("device_id: 7 election_id {{ low: 1 }} updates {{ {update} }}");
            client.write(from_text::<WriteRequest>(&write).unwrap()).await.unwrap();
        });
    }

    /// The answer to a query of a P4Runtime controller, as text.
    pub fn read(&self, query: &str) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let entities = runtime.block_on(async {
            let mut client = P4RuntimeClient::connect(format!("http://{}", self.grpc)).await.unwrap();
            let request: ReadRequest = from_text(&format!("device_id: 7 entities {{ {query} }}")).unwrap();
            let mut found = client.read(request).await.unwrap().into_inner();
            let mut all: Vec<Entity> = vec![];
            while let Some(piece) = found.message().await.unwrap() {
                all.extend(piece.entities);
            }
            all
        });
        let texts = entities
            .iter()
            .map(|entity| to_text(entity).unwrap().split_whitespace().collect::<Vec<_>>().join(" "));
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()) || std::thread::panicking());
    }
}

pub struct Client {
    stream: TcpStream,
    sequence: i32,
}

impl Client {
    fn call(&mut self, name: &str, fields: Fields) -> Message {
        self.sequence += 1;
        let call = Message { kind: Kind::Call, name: name.to_string(), sequence: self.sequence, fields };
        self.stream.write_all(&encode(&call)).unwrap();
        let mut bytes = vec![];
        let mut read = [0; 4096];
        loop {
            let count = self.stream.read(&mut read).unwrap();
            assert!(count > 0, "{name}: the connection is closed");
            bytes.extend_from_slice(&read[..count]);
            if let Some((answer, length)) = decode(&bytes).unwrap() {
                assert_eq!((length, answer.sequence), (bytes.len(), self.sequence));
                return answer;
            }
        }
    }

    /// The result of a method of `standard`.
    pub fn standard(&mut self, method: &str, fields: Fields) -> Option<Value> {
        self.result(&format!("standard:{method}"), fields)
    }

    fn result(&mut self, name: &str, fields: Fields) -> Option<Value> {
        let answer = self.call(name, fields);
        assert_eq!(answer.kind, Kind::Reply, "{answer:?}");
        assert!(answer.fields.iter().all(|(id, _)| *id == 0), "{name}: {answer:?}");
        answer.fields.into_iter().next().map(|(_, value)| value)
    }

    /// The result of a method; `None` for an exception that it does not declare.
    pub fn method(&mut self, name: &str, fields: Fields) -> Option<Value> {
        let answer = self.call(name, fields);
        (answer.kind == Kind::Reply)
            .then(|| answer.fields.into_iter().next())
            .flatten()
            .map(|(_, value)| value)
    }

    /// The code of the exception that a method declares.
    pub fn code(&mut self, method: &str, fields: Fields) -> i32 {
        let answer = self.call(&format!("standard:{method}"), fields);
        match answer.fields.as_slice() {
            [(1, Value::Struct(inner))] => match inner.as_slice() {
                [(1, Value::I32(code))] => *code,
                other => panic!("{method}: {other:?}"),
            },
            other => panic!("{method}: {other:?}"),
        }
    }
}

fn text(text: &str) -> Value {
    Value::text(text)
}

fn data(all: &[&[u8]]) -> Value {
    Value::List(Type::String, all.iter().map(|bytes| Value::String(bytes.to_vec())).collect())
}

/// `BmMatchParam`s: the kind, the field of that kind, and the fields in it.
fn keys(all: Vec<(i32, i16, Fields)>) -> Value {
    let one = |(kind, id, fields)| Value::Struct(vec![(1, Value::I32(kind)), (id, Value::Struct(fields))]);
    Value::List(Type::Struct, all.into_iter().map(one).collect())
}

fn bytes(bytes: &[u8]) -> Value {
    Value::String(bytes.to_vec())
}

fn options(priority: i32) -> Value {
    Value::Struct(vec![(1, Value::I32(priority))])
}

/// The arguments of a method that begins with context and name.
pub fn about(name: &str, more: Vec<Value>) -> Fields {
    let all = [Value::I32(0), text(name)].into_iter().chain(more);
    (1..).zip(all).collect()
}

fn lpm(prefix: &[u8], length: i32) -> Value {
    keys(vec![(1, 3, vec![(1, bytes(prefix)), (2, Value::I32(length))])])
}

#[test]
fn tables_are_one_store() {
    let switch = Running::start();
    let mut client = switch.client();
    let route = "MyIngress.route";
    let add = |prefix: &[u8], port: &[u8]| {
        about(route, vec![lpm(prefix, 24), text("MyIngress.forward"), data(&[port]), options(0)])
    };
    let one = client.standard("bm_mt_add_entry", add(&[0, 1, 2, 3, 4, 5], &[0, 9])).unwrap();
    assert_eq!(one, Value::I32(0));
    assert_eq!(client.standard("bm_mt_add_entry", add(&[8, 1, 2, 0, 0, 0], &[1, 0])), Some(Value::I32(1)));
    assert_eq!(
        client.code("bm_mt_add_entry", add(&[8, 1, 2, 0, 0, 0], &[1, 0])),
        18 - 1,
        "it is a duplicate"
    );
    // Bits that the data plane ignores are not part of the key.
    let read = switch.read("table_entry { table_id: 0 counter_data {} }");
    assert!(read.contains(r#"lpm { value: "\001\002\000\000\000" prefix_len: 24 }"#), "{read}");
    assert!(read.contains(r#"value: "\t""#), "{read}");
    assert_eq!(client.standard("bm_mt_get_num_entries", about(route, vec![])), Some(Value::I64(2)));
    let modify = |handle| about(route, vec![Value::I32(handle), text("drop"), data(&[])]);
    assert_eq!(client.standard("bm_mt_modify_entry", modify(1)), None);
    let Some(Value::Struct(entry)) = client.standard("bm_mt_get_entry", about(route, vec![Value::I32(1)]))
    else {
        panic!()
    };
    let run = Value::Struct(vec![(1, Value::I32(1)), (2, text("MyIngress.drop")), (3, data(&[]))]);
    assert_eq!(entry[3], (4, run));
    assert_eq!(entry[0], (1, lpm(&[8, 1, 2, 0, 0, 0], 24)));
    assert_eq!(client.code("bm_mt_modify_entry", modify(2)), 2);
    assert_eq!(client.code("bm_mt_get_num_entries", about("route2", vec![])), 7);
    assert_eq!(
        client.code(
            "bm_mt_add_entry",
            about("route", vec![lpm(&[1], 49), text("drop"), data(&[]), options(0)])
        ),
        18
    );
    let wrong = about("route", vec![lpm(&[1], 4), text("learn"), data(&[]), options(0)]);
    assert_eq!(client.code("bm_mt_add_entry", wrong), 8);
    let wrong = about("route", vec![lpm(&[1], 4), text("forward"), data(&[]), options(0)]);
    assert_eq!(client.code("bm_mt_add_entry", wrong), 26);
    // Counters of entries.
    let count = Value::Struct(vec![(1, Value::I64(100)), (2, Value::I64(2))]);
    let write = about(route, vec![Value::I32(0), count.clone()]);
    assert_eq!(client.standard("bm_mt_write_counter", write), None);
    assert_eq!(client.standard("bm_mt_read_counter", about(route, vec![Value::I32(0)])), Some(count));
    assert_eq!(client.standard("bm_mt_reset_counters", about(route, vec![])), None);
    let zero = Value::Struct(vec![(1, Value::I64(0)), (2, Value::I64(0))]);
    assert_eq!(client.standard("bm_mt_read_counter", about(route, vec![Value::I32(0)])), Some(zero));
    // The default action.
    let set = about(route, vec![text("forward"), data(&[&[0, 5]])]);
    assert_eq!(client.standard("bm_mt_set_default_action", set), None);
    let default =
        Value::Struct(vec![(1, Value::I32(1)), (2, text("MyIngress.forward")), (3, data(&[&[0, 5]]))]);
    assert_eq!(client.standard("bm_mt_get_default_entry", about(route, vec![])), Some(default));
    assert_eq!(client.standard("bm_mt_reset_default_entry", about(route, vec![])), None);
    let read = switch.read("table_entry { table_id: 0 is_default_action: true }");
    assert!(!read.contains(r#"value: "\005""#), "{read}");
    // Constant entries are there, and stay.
    assert_eq!(client.code("bm_mt_delete_entry", about("fixed", vec![Value::I32(0)])), 25);
    assert_eq!(client.standard("bm_mt_delete_entry", about(route, vec![Value::I32(0)])), None);
    assert_eq!(client.standard("bm_mt_clear_entries", about(route, vec![Value::Bool(false)])), None);
    assert_eq!(
        client.standard("bm_mt_get_entries", about(route, vec![])),
        Some(Value::List(Type::Struct, vec![]))
    );
}

#[test]
fn priorities_and_kinds_of_keys() {
    let switch = Running::start();
    let mut client = switch.client();
    let add = |mask: &[u8], hop: &[u8], priority| {
        let all = vec![
            (2, 4, vec![(1, bytes(&[8, 6])), (2, bytes(mask))]),
            (4, 6, vec![(1, bytes(&[0, 1])), (2, bytes(&[0, 4]))]),
            (2, 4, vec![(1, bytes(&[0, 7])), (2, bytes(hop))]),
        ];
        about("filter", vec![keys(all), text("NoAction"), data(&[]), options(priority)])
    };
    assert_eq!(client.standard("bm_mt_add_entry", add(&[255, 0], &[255, 255], 10)), Some(Value::I32(0)));
    assert_eq!(client.standard("bm_mt_add_entry", add(&[255, 255], &[0, 0], 1)), Some(Value::I32(1)));
    assert_eq!(client.code("bm_mt_add_entry", add(&[255, 255], &[255, 0], 1)), 18, "all bits or none");
    let read = switch.read("table_entry { table_id: 0 }");
    let priority = i32::MAX - 10;
    assert!(read.contains(&format!("priority: {priority}")), "{read}");
    assert!(read.contains(r#"ternary { value: "\010\000" mask: "\377\000" }"#), "{read}");
    assert!(
        read.contains(r#"optional { value: "\007" }"#)
            && read.contains(r#"range { low: "\001" high: "\004" }"#),
        "{read}"
    );
    let Some(Value::List(_, entries)) = client.standard("bm_mt_get_entries", about("filter", vec![])) else {
        panic!()
    };
    let Value::Struct(second) = &entries[1] else { panic!() };
    assert_eq!(second[1], (2, options(1)));
    // Rates of an entry's meter.
    let rate = |rate: f64, burst| Value::Struct(vec![(1, Value::Double(rate)), (2, Value::I32(burst))]);
    let rates = Value::List(Type::Struct, vec![rate(0.5, 10), rate(1.0, 20)]);
    assert_eq!(
        client.standard("bm_mt_set_meter_rates", about("filter", vec![Value::I32(1), rates.clone()])),
        None
    );
    assert_eq!(client.standard("bm_mt_get_meter_rates", about("filter", vec![Value::I32(1)])), Some(rates));
    // Idle timeouts.
    let known = keys(vec![(0, 2, vec![(1, bytes(&[0, 0, 0, 0, 0, 3]))])]);
    let add = about("known", vec![known, text("learn"), data(&[]), options(0)]);
    assert_eq!(client.standard("bm_mt_add_entry", add), Some(Value::I32(0)));
    let ttl = about("known", vec![Value::I32(0), Value::I32(1500)]);
    assert_eq!(client.standard("bm_mt_set_entry_ttl", ttl.clone()), None);
    assert!(switch.read("table_entry { table_id: 0 }").contains("idle_timeout_ns: 1500000000"));
    let ttl = about("route", vec![Value::I32(0), Value::I32(1500)]);
    assert_eq!(client.code("bm_mt_set_entry_ttl", ttl), 6);
}

#[test]
fn profiles_groups_and_multicast() {
    let switch = Running::start();
    let mut client = switch.client();
    let profile = "MyIngress.members";
    for (port, handle) in [(1, 0), (2, 1)] {
        let add = about(profile, vec![text("forward"), data(&[&[0, port]])]);
        assert_eq!(client.standard("bm_mt_act_prof_add_member", add), Some(Value::I32(handle)));
    }
    assert_eq!(client.standard("bm_mt_act_prof_create_group", about(profile, vec![])), Some(Value::I32(0)));
    let join = |client: &mut Client, member| {
        client.standard(
            "bm_mt_act_prof_add_member_to_group",
            about(profile, vec![Value::I32(member), Value::I32(0)]),
        )
    };
    assert_eq!((join(&mut client, 0), join(&mut client, 1)), (None, None));
    let again = about(profile, vec![Value::I32(1), Value::I32(0)]);
    assert_eq!(client.code("bm_mt_act_prof_add_member_to_group", again), 12);
    let leave = about(profile, vec![Value::I32(0), Value::I32(0)]);
    assert_eq!(client.standard("bm_mt_act_prof_remove_member_from_group", leave), None);
    let group = Value::Struct(vec![(1, Value::I32(0)), (2, Value::List(Type::I32, vec![Value::I32(1)]))]);
    assert_eq!(client.standard("bm_mt_act_prof_get_group", about(profile, vec![Value::I32(0)])), Some(group));
    let key = keys(vec![(0, 2, vec![(1, bytes(&[0, 3]))])]);
    let entry = about("ecmp", vec![key, Value::I32(0), options(0)]);
    assert_eq!(client.standard("bm_mt_indirect_ws_add_entry", entry), Some(Value::I32(0)));
    assert!(switch.read("table_entry { table_id: 0 }").contains("action_profile_group_id: 1"));
    assert_eq!(client.code("bm_mt_act_prof_delete_member", about(profile, vec![Value::I32(1)])), 11);
    assert_eq!(client.code("bm_mt_act_prof_get_member", about(profile, vec![Value::I32(5)])), 10);
    assert_eq!(client.code("bm_mt_act_prof_get_members", about("none", vec![])), 23);

    // A default that names a member follows it, until a controller sets another one.
    let default = "table_entry { table_id: 0 is_default_action: true }";
    let named = |member| Value::Struct(vec![(1, Value::I32(2)), (4, Value::I32(member))]);
    let set = |table, member| about(table, vec![Value::I32(member)]);
    let get = |client: &mut Client| client.standard("bm_mt_get_default_entry", about("ecmp", vec![]));
    let none = get(&mut client);
    assert_eq!(client.standard("bm_mt_indirect_set_default_member", set("ecmp", 0)), None);
    assert_eq!(get(&mut client), Some(named(0)));
    assert!(switch.read(default).contains("action_profile_member_id: 1"), "{}", switch.read(default));
    let modify = |port| about(profile, vec![Value::I32(0), text("forward"), data(&[&[0, port]])]);
    assert_eq!(client.standard("bm_mt_act_prof_modify_member", modify(9)), None);
    assert_eq!(get(&mut client), Some(named(0)));
    assert_eq!(client.code("bm_mt_act_prof_delete_member", about(profile, vec![Value::I32(0)])), 11);
    assert_eq!(client.code("bm_mt_indirect_set_default_member", set("ecmp", 5)), 10);
    assert_eq!(client.code("bm_mt_indirect_set_default_member", set("route", 0)), 9);
    assert_eq!(client.code("bm_mt_indirect_ws_set_default_group", set("ecmp", 0)), 100);
    let direct = about("ecmp", vec![text("forward"), data(&[&[0, 4]])]);
    assert_eq!(client.standard("bm_mt_set_default_action", direct), None);
    assert_eq!(client.standard("bm_mt_act_prof_modify_member", modify(8)), None);
    assert!(switch.read(default).contains(r#"value: "\004""#), "{}", switch.read(default));
    assert_eq!(client.standard("bm_mt_indirect_set_default_member", set("ecmp", 0)), None);
    assert_eq!(client.standard("bm_mt_indirect_reset_default_entry", about("ecmp", vec![])), None);
    assert_eq!(get(&mut client), none);
    assert_eq!(client.standard("bm_mt_act_prof_delete_member", about(profile, vec![Value::I32(0)])), None);

    let multicast = |method: &str| format!("simple_pre_lag:{method}");
    let call = |client: &mut Client, method: &str, more: Vec<Value>| {
        let all = std::iter::once(Value::I32(0)).chain(more);
        client.result(&multicast(method), (1..).zip(all).collect())
    };
    assert_eq!(call(&mut client, "bm_mc_mgrp_create", vec![Value::I32(5)]), Some(Value::I32(5)));
    let node = vec![Value::I32(400), text("0110"), text("")];
    assert_eq!(call(&mut client, "bm_mc_node_create", node), Some(Value::I32(0)));
    assert_eq!(call(&mut client, "bm_mc_node_associate", vec![Value::I32(5), Value::I32(0)]), None);
    let groups = "packet_replication_engine_entry { multicast_group_entry {} }";
    let read = switch.read(groups);
    assert!(
        read.contains("multicast_group_id: 5") && read.contains(r#"instance: 400 port: "\002""#),
        "{read}"
    );
    assert_eq!(call(&mut client, "bm_mc_node_update", vec![Value::I32(0), text("1000"), text("")]), None);
    let read = switch.read(groups);
    assert!(read.contains(r#"port: "\003""#) && !read.contains(r#"port: "\001""#), "{read}");
    let Some(Value::String(dump)) = call(&mut client, "bm_mc_get_entries", vec![]) else { panic!() };
    let dump = String::from_utf8(dump).unwrap();
    assert!(dump.contains(r#""l1_handles":[0]"#) && dump.contains(r#""ports":[3]"#), "{dump}");

    // A copy for a link aggregation group takes the port that 255 modulo their number chooses, as in BMv2.
    let lag = |number: i16, ports: &str| vec![Value::I16(number), text(ports)];
    assert_eq!(call(&mut client, "bm_mc_set_lag_membership", lag(2, "1100000")), None);
    assert_eq!(call(&mut client, "bm_mc_node_update", vec![Value::I32(0), text("1000"), text("100")]), None);
    let read = switch.read(groups);
    assert!(read.contains(r#"port: "\003""#) && read.contains(r#"port: "\006""#), "{read}");
    assert!(!read.contains(r#"port: "\005""#), "{read}");
    assert_eq!(call(&mut client, "bm_mc_set_lag_membership", lag(2, "111000000")), None);
    assert!(switch.read(groups).contains(r#"port: "\006""#));
    assert_eq!(call(&mut client, "bm_mc_set_lag_membership", lag(2, "100000")), None);
    let read = switch.read(groups);
    assert!(read.contains(r#"port: "\005""#) && !read.contains(r#"port: "\006""#), "{read}");
    let Some(Value::String(dump)) = call(&mut client, "bm_mc_get_entries", vec![]) else { panic!() };
    let dump = String::from_utf8(dump).unwrap();
    assert!(dump.contains(r#""lags":[2]"#) && dump.contains(r#"{"id":2,"ports":[5]}"#), "{dump}");
    assert_eq!(call(&mut client, "bm_mc_set_lag_membership", lag(2, "")), None);
    assert!(!switch.read(groups).contains(r#"port: "\005""#));
    let refused = std::iter::once(Value::I32(0)).chain(lag(256, "1"));
    let refused = client.call(&multicast("bm_mc_set_lag_membership"), (1..).zip(refused).collect());
    assert_eq!(refused.fields, vec![(1, Value::Struct(vec![(1, Value::I32(5))]))]);

    let session = |config: Fields| vec![(1, Value::I32(9)), (2, Value::Struct(config))];
    assert_eq!(client.result("simple_switch:mirroring_session_add", session(vec![(1, Value::I32(3))])), None);
    assert_eq!(client.result("simple_switch:mirroring_session_add", session(vec![(2, Value::I32(5))])), None);
    let read = switch.read("packet_replication_engine_entry { clone_session_entry {} }");
    assert!(read.contains("session_id: 9") && read.contains("instance: 400"), "{read}");
    assert_eq!(client.result("simple_switch:mirroring_session_delete", vec![(1, Value::I32(9))]), None);
    assert_eq!(call(&mut client, "bm_mc_mgrp_destroy", vec![Value::I32(5)]), None);
    assert_eq!(switch.read(groups), "");
}

#[test]
fn objects_and_the_switch_itself() {
    let switch = Running::start();
    let mut client = switch.client();
    let write = |index, value| about("cells", vec![Value::I32(index), Value::I64(value)]);
    assert_eq!(client.standard("bm_register_write", write(1, 0x1_0000_0007)), None);
    assert_eq!(client.standard("bm_register_write", write(2, -1)), None);
    let cells = [0, 7, 0xffff_ffff, 0, 0, 0, 0, 0].map(Value::I64).to_vec();
    assert_eq!(
        client.standard("bm_register_read_all", about("cells", vec![])),
        Some(Value::List(Type::I64, cells))
    );
    assert!(switch.read("register_entry {}").contains(r#"bitstring: "\007""#));
    assert_eq!(client.code("bm_register_read", about("cells", vec![Value::I32(8)])), 2);
    assert_eq!(client.code("bm_register_read", about("pairs", vec![Value::I32(0)])), 3);
    assert_eq!(client.standard("bm_register_reset", about("cells", vec![])), None);
    assert_eq!(client.standard("bm_register_read", about("cells", vec![Value::I32(1)])), Some(Value::I64(0)));
    let count = Value::Struct(vec![(1, Value::I64(60)), (2, Value::I64(1))]);
    assert_eq!(
        client.standard("bm_counter_write", about("packets", vec![Value::I32(3), count.clone()])),
        None
    );
    assert_eq!(client.standard("bm_counter_read", about("packets", vec![Value::I32(3)])), Some(count));
    assert_eq!(client.standard("bm_counter_reset_all", about("packets", vec![])), None);
    let rate = |rate: f64, burst| Value::Struct(vec![(1, Value::Double(rate)), (2, Value::I32(burst))]);
    let rates = Value::List(Type::Struct, vec![rate(0.001, 5), rate(0.002, 9)]);
    assert_eq!(client.standard("bm_meter_array_set_rates", about("rate", vec![rates.clone()])), None);
    assert_eq!(client.standard("bm_meter_get_rates", about("rate", vec![Value::I32(2)])), Some(rates));
    let short = Value::List(Type::Struct, vec![rate(0.001, 5)]);
    assert_eq!(client.code("bm_meter_set_rates", about("rate", vec![Value::I32(0), short])), 3);
    assert_eq!(client.standard("bm_parse_vset_add", about("types", vec![bytes(&[0x12, 0x34])])), None);
    assert_eq!(client.standard("bm_parse_vset_get", about("types", vec![])), Some(data(&[&[0x12, 0x34]])));
    assert_eq!(client.standard("bm_parse_vset_remove", about("types", vec![bytes(&[0x12, 0x34])])), None);
    assert_eq!(client.standard("bm_parse_vset_get", about("types", vec![])), Some(data(&[])));

    let info = client.standard("bm_mgmt_get_info", vec![]).unwrap();
    let port = i32::from(switch.thrift.port());
    assert_eq!(info, Value::Struct(vec![(1, Value::I64(7)), (2, Value::I32(port))]));
    let Some(Value::String(config)) = client.standard("bm_get_config", vec![]) else { panic!() };
    let config = String::from_utf8(config).unwrap();
    for part in [
        r#""match_type": "range""#,
        r#""type": "indirect_ws""#,
        r#""name": "MyIngress.cells""#,
        r#""support_timeout": true"#,
    ] {
        assert!(config.contains(part), "{part}: {config}");
    }
    let id = |kind, name| vec![(1, Value::I32(0)), (2, Value::I32(kind)), (3, text(name))];
    assert_eq!(client.standard("bm_get_id_from_name", id(5, "learn_t")), Some(Value::I32(1)));
    assert_eq!(client.code("bm_get_id_from_name", id(5, "learn")), 1);
    assert_eq!(client.code("bm_get_id_from_name", id(6, "learn_t")), 0);
    let Some(Value::String(md5)) = client.standard("bm_get_config_md5", vec![]) else { panic!() };
    assert_eq!(md5.len(), 16);
    assert_eq!(client.standard("bm_dev_mgr_show_ports", vec![]), Some(Value::List(Type::Struct, vec![])));
    let port = vec![(1, text("no-such-link")), (2, Value::I32(4)), (3, text(""))];
    assert_eq!(client.code("bm_dev_mgr_add_port", port), 1);
    assert_eq!(client.standard("bm_register_write", write(1, 7)), None);
    assert_eq!(client.standard("bm_reset_state", vec![]), None);
    assert_eq!(client.standard("bm_register_read", about("cells", vec![Value::I32(1)])), Some(Value::I64(0)));
    let Some(Value::I64(elapsed)) = client.result("simple_switch:get_time_elapsed_us", vec![]) else {
        panic!()
    };
    assert!(elapsed > 0);
    let depth = vec![(1, Value::I32(64))];
    assert_eq!(client.result("simple_switch:set_all_egress_queue_depths", depth), Some(Value::I32(0)));
}

#[test]
fn commands_are_those_of_simple_switch_cli() {
    let switch = Running::start();
    let client = bmv2_thrift::Client::connect(&switch.thrift.to_string()).unwrap();
    let mut cli = bmv2::cli::Cli::new(client).unwrap();
    let mut run = |line: &str| match cli.run(line) {
        Ok(text) => text.trim_end().to_string(),
        Err(why) => format!("! {why}"),
    };
    assert_eq!(
        run("table_add route forward 0a:00:00:00:00:00/16 => 3"),
        "Entry has been added with handle 0"
    );
    assert_eq!(
        run("table_add MyIngress.filter NoAction 0x800&&&0xff00 1->4 * => 5"),
        "Entry has been added with handle 0"
    );
    assert_eq!(run("table_modify route drop 0"), "");
    assert_eq!(
        run("table_dump_entry filter 0"),
        "Dumping entry 0x0\nMatch key:\n* hdr.ethernet.type   : TERNARY   0800 &&& ff00\n* std.ingress_port    : RANGE     0001 -> 0004\n\
         * meta.hop            : TERNARY   0000 &&& 0000\nPriority: 5\nAction entry: NoAction -"
    );
    assert!(
        run("table_dump route")
            .contains("* hdr.ethernet.dst    : LPM       0a0000000000/16\nAction entry: MyIngress.drop -")
    );
    assert_eq!(run("register_write cells 2 0x10"), "");
    assert_eq!(run("register_read cells"), "MyIngress.cells= 0, 0, 16, 0, 0, 0, 0, 0");
    assert_eq!(run("counter_write hits 0 2 100  # of an entry"), "");
    assert_eq!(run("counter_read hits 0"), "MyIngress.hits[0]= (100 bytes, 2 packets)");
    assert_eq!(run("meter_set_rates rate 1 0.5:10 1:20"), "");
    assert_eq!(
        run("meter_get_rates rate 1"),
        "0: info rate = 0.5, burst size = 10\n1: info rate = 1, burst size = 20"
    );
    assert_eq!(run("act_prof_create_member members forward 2"), "Member has been created with handle 0");
    assert_eq!(run("act_prof_create_group members"), "Group has been created with handle 0");
    assert_eq!(run("act_prof_add_member_to_group members 0 0"), "");
    assert_eq!(run("table_indirect_add_with_group ecmp 3 => 0"), "Entry has been added with handle 0");
    assert!(
        run("table_dump ecmp").contains("Index: group(0)\n==========\nMEMBERS\n**********\nDumping member 0")
    );
    assert_eq!(run("table_indirect_set_default ecmp 0"), "");
    assert!(run("table_dump ecmp").contains("Dumping default entry\nIndex: member(0)"));
    assert_eq!(run("mc_mgrp_create 1"), "");
    assert_eq!(run("mc_node_create 5 0 2"), "node was created with handle 0");
    assert_eq!(run("mc_node_associate 1 0"), "");
    assert!(run("mc_dump").contains(r#""ports":[0,2]"#));
    assert_eq!(run("mc_set_lag_membership 1 4 5"), "");
    assert_eq!(run("mc_node_update 0 0 | 1"), "");
    assert!(run("mc_dump").contains(r#"{"handle":0,"lags":[1],"ports":[0]}"#));
    // A new node with the handle of a deleted one is in no group.
    assert_eq!(run("mc_node_destroy 0"), "");
    assert_eq!(run("mc_node_create 6 1"), "node was created with handle 0");
    assert!(run("mc_dump").contains(r#"{"id":1,"l1_handles":[]}"#));
    assert_eq!(run("mirroring_add 7 3"), "");
    assert_eq!(run("mirroring_get 7"), "port 3");
    assert_eq!(run("pvs_add types 0x1234"), "");
    assert_eq!(run("pvs_get types"), "1234");
    assert!(
        run("table_info route").starts_with(
            "MyIngress.route                [implementation=None, mk=hdr.ethernet.dst(lpm, 48)]"
        )
    );
    assert!(run("switch_info").starts_with("device_id                : 7\n"));
    for (line, why) in [
        ("table_ad route", "there is no command `table_ad`: did you mean `table_add`?"),
        ("table_add rout drop", "there is no table `rout`; did you mean `route`?"),
        ("table_add route drop", "usage: table_add TABLE ACTION KEY... => ARG... [PRIORITY]"),
        ("table_add route frward", "there is no action here `frward`; did you mean `forward`?"),
        ("table_add route drop 1 =>", "hdr.ethernet.dst: a key of kind lpm is written VALUE/LENGTH, not `1`"),
        ("table_add route drop =>", "`MyIngress.route` has 1 keys: hdr.ethernet.dst (lpm); 0 are given"),
        ("table_add route forward 1/8 =>", "`MyIngress.forward` takes 1 values: port (9 bits); 0 are given"),
        ("table_add route forward 1/8 => 512", "port: 0x200 needs more than 9 bits"),
        (
            "table_add filter NoAction 1&&&1 * * => x",
            "`MyIngress.filter` needs a priority as its last word, not `x`; the lowest wins",
        ),
        ("table_delete route 9", "Invalid table operation (INVALID_HANDLE)"),
        ("register_read cells 8", "Invalid register operation (INVALID_INDEX)"),
        ("register_read cell", "there is no register `cell`; did you mean `cells`?"),
        ("mirroring_get 8", "Invalid mirroring operation (SESSION_NOT_FOUND)"),
        ("mc_set_lag_membership 256 1", "Invalid PRE operation (ERROR)"),
        ("mc_node_create 1 2 | 256", "a link aggregation group is below 256"),
        ("port_add no-such-link 4", "Invalid device manager operation (ERROR)"),
    ] {
        assert_eq!(run(line), format!("! {why}"), "{line}");
    }
    let complete = |before: &str| cli.complete(before);
    assert_eq!(complete("table_ad"), (0, vec!["table_add".to_string()]));
    assert_eq!(complete("table_add rou"), (10, vec!["MyIngress.route".to_string()]));
    assert_eq!(complete("table_add route f").1, ["MyIngress.forward"]);
    assert_eq!(complete("table_add route forward 1/2 ").1, ["=>"]);
    assert_eq!(complete("act_prof_create_member members ").1, ["MyIngress.forward", "NoAction"]);
    assert_eq!(complete("register_read c").1, ["MyIngress.cells"]);
    assert_eq!(cli.hint("table_add filter NoAction 1&&&1 ").as_deref(), Some("std.ingress_port:range/9"));
    assert_eq!(cli.hint("table_add route forward 1/2 => ").as_deref(), Some("port/9"));
    assert_eq!(cli.hint("register_write cells ").as_deref(), Some("INDEX VALUE"));
}

#[test]
fn multicast_groups_of_a_program_without_tables_are_seen() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/learn.p4");
    let switch = Running::start_with(path, |setup| setup);
    let client = bmv2_thrift::Client::connect(&switch.thrift.to_string()).unwrap();
    let mut cli = bmv2::cli::Cli::new(client).unwrap();
    let group = "type: INSERT entity { packet_replication_engine_entry { multicast_group_entry {
        multicast_group_id: 9 replicas { port: \"\\x02\" instance: 5 } } } }";
    switch.write(group);
    let dump = cli.run("mc_dump").unwrap();
    assert!(dump.contains(r#""id":9"#) && dump.contains(r#""ports":[2]"#), "{dump}");
    assert_eq!(cli.run("mc_node_create 6 3").unwrap().trim_end(), "node was created with handle 1");
    cli.run("mc_node_associate 9 1").unwrap();
    let read =
        switch.read("packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 9 } }");
    assert!(read.contains("instance: 5") && read.contains("instance: 6"), "{read}");
}

#[test]
fn a_constant_default_does_not_become_a_member() {
    let program = include_str!("../../device-control/tests/p4runtime/all.p4");
    let constant = "implementation = members; const default_action = NoAction;";
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/constant-default.p4");
    std::fs::write(path, program.replacen("implementation = members;", constant, 1)).unwrap();
    let switch = Running::start_with(path, |setup| setup);
    let client = bmv2_thrift::Client::connect(&switch.thrift.to_string()).unwrap();
    let mut cli = bmv2::cli::Cli::new(client).unwrap();
    cli.run("act_prof_create_member members forward 2").unwrap();
    let refused = cli.run("table_indirect_set_default ecmp 0").unwrap_err();
    assert_eq!(refused, "Invalid table operation (DEFAULT_ENTRY_IS_CONST)");
}

#[test]
fn nonsense_is_answered_and_harms_nobody() {
    let switch = Running::start();
    let mut client = switch.client();
    for (name, fields) in [
        ("standard:bm_mt_frobnicate", vec![]),
        ("other:bm_mt_get_entries", about("route", vec![])),
        ("standard:bm_mt_get_entries", vec![]),
        ("standard:bm_mt_get_entries", vec![(2, Value::Bool(true))]),
        ("standard:bm_register_read", about("cells", vec![])),
    ] {
        let answer = client.call(name, fields);
        assert_eq!(answer.kind, Kind::Exception, "{name}");
        assert!(matches!(answer.fields[..], [(1, Value::String(_)), (2, Value::I32(1 | 7))]), "{answer:?}");
    }
    let mut other = TcpStream::connect(switch.thrift).unwrap();
    other.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(other.read(&mut [0; 16]).unwrap_or(0), 0, "it is closed");
    assert_eq!(client.standard("bm_mt_get_num_entries", about("route", vec![])), Some(Value::I64(0)));
    // Half a call, and an end.
    let mut other = TcpStream::connect(switch.thrift).unwrap();
    other.write_all(&[0x80, 1, 0, 1, 0, 0]).unwrap();
    drop(other);
    // More clients than there may be: those who were idle go.
    let idle: Vec<TcpStream> = (0..80).map(|_| TcpStream::connect(switch.thrift).unwrap()).collect();
    assert_eq!(
        switch.client().standard("bm_mt_get_num_entries", about("route", vec![])),
        Some(Value::I64(0))
    );
    drop(idle);
}
