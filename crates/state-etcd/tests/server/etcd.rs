//! The part of etcd that controllers use, as a state machine: keys, transactions, leases. Its behaviour is that of etcd 3.4 (api/v3/rpc.proto).

use state_etcd::api::compare::{CompareTarget, TargetUnion};
use state_etcd::api::range_request::SortTarget;
use state_etcd::api::request_op::Request;
use state_etcd::api::response_op::Response;
use state_etcd::api::{
    Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, RangeResponse, RequestOp,
    ResponseHeader, ResponseOp, TxnRequest, TxnResponse,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Most operations of a transaction (`--max-txn-ops`), and bytes of a request (`--max-request-bytes`).
const MOST_OPERATIONS: usize = 128;
const MOST_BYTES: usize = 3 << 19;

/// Longest time by which a member is behind the leader.
const BEHIND: Duration = Duration::from_millis(500);

/// Shortest lease, in seconds, with etcd's usual election time-out.
const SHORTEST: i64 = 2;

#[derive(Clone)]
struct Pair {
    value: Vec<u8>,
    created: i64,
    modified: i64,
    lease: i64,
}

#[derive(Clone, Copy)]
struct Lease {
    seconds: i64,
    until: Duration,
}

#[derive(Default)]
pub struct Etcd {
    revision: i64,
    pairs: BTreeMap<Vec<u8>, Pair>,
    leases: BTreeMap<i64, Lease>,
    /// Number of leases so far.
    pub granted: i64,
    /// Candidates that others have deleted.
    pub deleted: u64,
    /// Reads of the leader's state have no answer, as for a while after a leader has ended.
    pub reads_wait: bool,
    /// State of a member that is behind: its revision, its pairs, and the time.
    behind: (i64, BTreeMap<Vec<u8>, Pair>, Duration),
}

impl Etcd {
    /// Another member of etcd becomes its leader. It does not know when leases were extended, and extends them by their length and the election
    /// time-out.
    #[allow(dead_code)]
    pub fn change_leader(&mut self, now: Duration) {
        for lease in self.leases.values_mut() {
            lease.until = now + Duration::from_secs(lease.seconds as u64 + 1);
        }
    }

    /// Ends leases. etcd looks every 500 ms.
    pub fn expire(&mut self, now: Duration) {
        let ended: Vec<i64> =
            self.leases.iter().filter(|(_, lease)| lease.until <= now).map(|(id, _)| *id).collect();
        ended.into_iter().for_each(|id| self.revoke(id));
    }

    pub fn grant(&mut self, now: Duration, seconds: i64) -> (i64, i64) {
        self.granted += 1;
        let seconds = seconds.max(SHORTEST);
        let until = now + Duration::from_secs(seconds as u64);
        self.leases.insert(self.granted, Lease { seconds, until });
        (self.granted, seconds)
    }

    /// The seconds for which it is extended; 0 if it has ended.
    pub fn keep_alive(&mut self, now: Duration, id: i64) -> i64 {
        let Some(lease) = self.leases.get_mut(&id) else { return 0 };
        lease.until = now + Duration::from_secs(lease.seconds as u64);
        lease.seconds
    }

    pub fn revoke(&mut self, id: i64) {
        self.leases.remove(&id);
        self.pairs.retain(|_, pair| pair.lease != id);
    }

    /// As the leader answers, or for `serializable` reads, as a member that may be half a second behind it. `None`: without an answer.
    pub fn range(&mut self, now: Duration, request: &RangeRequest) -> Option<RangeResponse> {
        if !request.serializable {
            return (!self.reads_wait).then(|| Etcd::read(self.revision, &self.pairs, request));
        }
        if now >= self.behind.2 + BEHIND {
            self.behind = (self.revision, self.pairs.clone(), now);
        }
        Some(Etcd::read(self.behind.0, &self.behind.1, request))
    }

    fn read(revision: i64, pairs: &BTreeMap<Vec<u8>, Pair>, request: &RangeRequest) -> RangeResponse {
        let end = &request.range_end;
        let is_in = |key: &Vec<u8>| if end.is_empty() { *key == request.key } else { key < end };
        let pairs = pairs.range(request.key.clone()..).take_while(|(key, _)| is_in(key));
        let mut kvs: Vec<KeyValue> = pairs
            .map(|(key, pair)| KeyValue {
                key: key.clone(),
                create_revision: pair.created,
                mod_revision: pair.modified,
                value: pair.value.clone(),
            })
            .collect();
        if request.sort_target == SortTarget::Create as i32 {
            kvs.sort_by_key(|pair| pair.create_revision);
        }
        let most = if request.limit == 0 { usize::MAX } else { request.limit as usize };
        let more = kvs.len() > most;
        kvs.truncate(most);
        RangeResponse { header: Some(ResponseHeader { revision }), kvs, more }
    }

    /// Refuses what etcd refuses.
    pub fn transact(&mut self, request: &TxnRequest) -> Result<TxnResponse, String> {
        for operations in [&request.success, &request.failure] {
            if operations.len() > MOST_OPERATIONS {
                return Err("etcdserver: too many operations in txn request".to_string());
            }
            check(operations)?;
        }
        if prost::Message::encoded_len(request) > MOST_BYTES {
            return Err("etcdserver: request is too large".to_string());
        }
        let succeeded = request.compare.iter().all(|compare| self.holds(compare));
        let operations = if succeeded { &request.success } else { &request.failure };
        let leases = operations.iter().filter_map(|operation| match &operation.request {
            Some(Request::RequestPut(put)) if put.lease != 0 => Some(put.lease),
            _ => None,
        });
        if let Some(lease) = leases.into_iter().find(|lease| !self.leases.contains_key(lease)) {
            return Err(format!("etcdserver: requested lease not found: {lease}"));
        }
        if succeeded {
            operations.iter().for_each(|operation| self.check_writer(operation));
        }
        self.revision += 1;
        let responses = operations.iter().map(|operation| self.execute(operation)).collect();
        Ok(TxnResponse { succeeded, responses })
    }

    fn holds(&self, compare: &Compare) -> bool {
        let pair = self.pairs.get(&compare.key);
        match (&compare.target_union, compare.target()) {
            (Some(TargetUnion::CreateRevision(revision)), CompareTarget::Create) => {
                pair.map_or(0, |pair| pair.created) == *revision
            }
            (Some(TargetUnion::ModRevision(revision)), CompareTarget::Mod) => {
                pair.map_or(0, |pair| pair.modified) == *revision
            }
            (Some(TargetUnion::Value(value)), CompareTarget::Value) => {
                pair.is_some_and(|pair| pair.value == *value)
            }
            other => panic!("controllers compare nothing like {other:?}"),
        }
    }

    /// A transaction with a leader's mark takes effect only while the key of that leader is there.
    fn check_writer(&self, operation: &RequestOp) {
        let Some(Request::RequestPut(put)) = &operation.request else { return };
        if put.key.ends_with(b"/state/mark") {
            let mark = String::from_utf8(put.value.clone()).unwrap();
            let term = i64::from_str_radix(mark.split_once('/').unwrap().0, 16).unwrap();
            let is_there = self.pairs.values().any(|pair| pair.lease != 0 && pair.created == term);
            assert!(is_there, "a transaction of {term} takes effect, which does not lead");
        }
    }

    fn execute(&mut self, operation: &RequestOp) -> ResponseOp {
        let response = match operation.request.as_ref().unwrap() {
            Request::RequestRange(range) => {
                Some(Response::ResponseRange(Etcd::read(self.revision, &self.pairs, range)))
            }
            Request::RequestPut(PutRequest { key, value, lease }) => {
                let created = self.pairs.get(key).map_or(self.revision, |pair| pair.created);
                let pair = Pair { value: value.clone(), created, modified: self.revision, lease: *lease };
                self.pairs.insert(key.clone(), pair);
                None
            }
            Request::RequestDeleteRange(DeleteRangeRequest { key, range_end }) => {
                let is_deleted = |other: &Vec<u8>| other >= key && other < range_end;
                let has_lease = |(key, pair): (&Vec<u8>, &Pair)| is_deleted(key) && pair.lease != 0;
                self.deleted += u64::from(self.pairs.iter().any(has_lease));
                self.pairs.retain(|other, _| !is_deleted(other));
                None
            }
        };
        ResponseOp { response }
    }
}

/// A transaction may write a key once.
fn check(operations: &[RequestOp]) -> Result<(), String> {
    let (mut puts, mut deletes) = (std::collections::BTreeSet::new(), vec![]);
    for operation in operations {
        match operation.request.as_ref().unwrap() {
            Request::RequestPut(put) if !puts.insert(put.key.clone()) => {
                return Err("etcdserver: duplicate key given in txn request".to_string());
            }
            Request::RequestDeleteRange(delete) => deletes.push(delete),
            _ => {}
        }
    }
    let overlaps = |delete: &&DeleteRangeRequest| {
        puts.range(delete.key.clone()..).next().is_some_and(|put| *put < delete.range_end)
    };
    match deletes.iter().any(overlaps) {
        true => Err("etcdserver: duplicate key given in txn request".to_string()),
        false => Ok(()),
    }
}
