//! The leader among several controllers: candidates have a key each, and the one whose key was created first leads.

use crate::api::compare::{CompareResult, CompareTarget, TargetUnion};
use crate::api::range_request::{SortOrder, SortTarget};
use crate::api::request_op::Request;
use crate::api::response_op::Response;
use crate::api::{Compare, KeyValue, PutRequest, RangeRequest, RequestOp, TxnRequest, TxnResponse};
use crate::cluster::{Cluster, EtcdError};
use crate::layout::{Layout, end_of};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Interval at which a candidate looks for the leader.
const POLL: Duration = Duration::from_millis(50);

/// The leadership of one controller. It ends with a lease that has to be extended.
#[derive(Debug)]
pub struct Lead {
    pub(crate) key: Vec<u8>,
    revision: i64,
    lease: i64,
    /// Time for which an answer extends the lease.
    length: Duration,
    /// When the lease ends at the earliest, in nanoseconds of the cluster's clock.
    until: AtomicU64,
}

impl Lead {
    /// Number of this leadership; later ones have larger numbers.
    pub fn term(&self) -> u64 {
        u64::try_from(self.revision).unwrap_or(0)
    }

    /// True if no other controller can lead.
    pub fn holds(&self, now: Duration) -> bool {
        nanoseconds(now) < self.until.load(Ordering::SeqCst)
    }

    /// Time between two extensions.
    pub fn interval(&self) -> Duration {
        self.length / 4
    }

    /// Extends the lease. [`EtcdError::Superseded`] if it has ended, or may have.
    pub fn keep(&self, cluster: &mut impl Cluster) -> Result<(), EtcdError> {
        let sent = cluster.now();
        match cluster.keep_alive(self.lease) {
            Ok(kept) if kept.ttl > 0 => {
                self.until.fetch_max(nanoseconds(sent + self.length), Ordering::SeqCst);
                Ok(())
            }
            Ok(_) => Err(self.lose()),
            Err(_) if !self.holds(cluster.now()) => Err(self.lose()),
            Err(error) => Err(error),
        }
    }

    /// Ends it for this process.
    pub(crate) fn lose(&self) -> EtcdError {
        self.until.store(0, Ordering::SeqCst);
        EtcdError::Superseded
    }

    /// Ends it, so that another candidate leads at once.
    pub fn end(&self, cluster: &mut impl Cluster) {
        self.lose();
        // If it is not reached, the lease ends by itself.
        let _ = cluster.revoke(self.lease);
    }

    /// True while the leader's key is there.
    pub(crate) fn compare(&self) -> Compare {
        created_at(&self.key, self.revision)
    }

    pub(crate) fn is_in(&self, pairs: &[KeyValue]) -> bool {
        pairs.iter().any(|pair| pair.key == self.key && pair.create_revision == self.revision)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// True if a key was created with this revision; 0: if it is not there.
pub(crate) fn created_at(key: &[u8], revision: i64) -> Compare {
    Compare {
        result: CompareResult::Equal as i32,
        target: CompareTarget::Create as i32,
        key: key.to_vec(),
        target_union: Some(TargetUnion::CreateRevision(revision)),
    }
}

pub(crate) fn read(key: Vec<u8>) -> RequestOp {
    RequestOp { request: Some(Request::RequestRange(RangeRequest { key, ..RangeRequest::default() })) }
}

/// The pairs that a transaction has read.
pub(crate) fn pairs(answer: &TxnResponse) -> Vec<KeyValue> {
    let ranges = answer
        .responses
        .iter()
        .filter_map(|response| response.response.as_ref().map(|Response::ResponseRange(range)| &range.kvs));
    ranges.flatten().cloned().collect()
}

/// Waits until this process leads. `about` describes it to others; `report` gets what it waits for, whenever that changes.
pub fn seek(
    cluster: &mut impl Cluster,
    layout: &Layout,
    seconds: i64,
    about: &str,
    report: &mut dyn FnMut(&str),
) -> Result<Lead, EtcdError> {
    let mut reported = String::new();
    let mut report = |text: String| {
        if text != reported {
            report(&text);
            reported = text;
        }
    };
    loop {
        match candidacy(cluster, layout, seconds, about, &mut report) {
            Ok(lead) => return Ok(lead),
            // The lease has ended before this candidate's turn.
            Err(EtcdError::Superseded) => {}
            Err(error @ EtcdError::Unreachable(_)) => report(format!("{error}; trying again")),
            Err(error) => return Err(error),
        }
        cluster.pause(POLL);
    }
}

/// One candidate, until it leads.
fn candidacy(
    cluster: &mut impl Cluster,
    layout: &Layout,
    seconds: i64,
    about: &str,
    report: &mut dyn FnMut(String),
) -> Result<Lead, EtcdError> {
    let lead = stand(cluster, layout, seconds, about)?;
    let mut next = cluster.now() + lead.interval();
    loop {
        if cluster.now() >= next {
            // The lease may outlive a time in which etcd does not answer.
            match lead.keep(cluster) {
                Err(EtcdError::Unreachable(_)) | Ok(()) => {}
                Err(error) => return Err(error),
            }
            next = cluster.now() + lead.interval();
        }
        let first = RangeRequest {
            range_end: end_of(&layout.candidates()),
            key: layout.candidates(),
            limit: 1,
            sort_order: SortOrder::Ascend as i32,
            sort_target: SortTarget::Create as i32,
        };
        match cluster.range(first).map(|found| found.kvs) {
            Ok(first) if lead.is_in(&first) => return Ok(lead),
            Ok(first) => match first.first() {
                Some(first) => report(format!("waiting: {} leads", String::from_utf8_lossy(&first.value))),
                None => return Err(EtcdError::Superseded),
            },
            Err(error @ EtcdError::Unreachable(_)) => report(format!("{error}; trying again")),
            Err(error) => return Err(error),
        }
        cluster.pause(POLL);
    }
}

/// Creates a candidate's key, under a lease.
fn stand(cluster: &mut impl Cluster, layout: &Layout, seconds: i64, about: &str) -> Result<Lead, EtcdError> {
    let sent = cluster.now();
    let granted = cluster.grant(seconds)?;
    let length = Duration::from_secs(u64::try_from(granted.ttl).unwrap_or(0));
    let key = layout.candidate(granted.id);
    let candidate = PutRequest { key: key.clone(), value: about.as_bytes().to_vec(), lease: granted.id };
    let request = TxnRequest {
        compare: vec![created_at(&key, 0)],
        success: vec![RequestOp { request: Some(Request::RequestPut(candidate)) }, read(key.clone())],
        failure: vec![read(key.clone())],
    };
    let until = AtomicU64::new(nanoseconds(sent + length));
    let mut lead = Lead { key, revision: 0, lease: granted.id, length, until };
    loop {
        match cluster.transact(request.clone()) {
            Ok(answer) => {
                // Of an earlier try, whose answer was lost, perhaps.
                let own = pairs(&answer).into_iter().find(|pair| pair.key == lead.key);
                lead.revision = own.ok_or(EtcdError::Superseded)?.create_revision;
                return Ok(lead);
            }
            Err(EtcdError::Unreachable(_)) if lead.holds(cluster.now()) => cluster.pause(POLL),
            // The lease has ended.
            Err(EtcdError::Refused(_)) if !lead.holds(cluster.now()) => return Err(lead.lose()),
            Err(error) => return Err(error),
        }
    }
}
