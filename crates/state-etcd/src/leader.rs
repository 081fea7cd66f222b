//! The leader among several controllers: candidates have a key each, and the one whose key was created first leads.

use crate::api::compare::{CompareResult, CompareTarget, TargetUnion};
use crate::api::range_request::{SortOrder, SortTarget};
use crate::api::request_op::Request;
use crate::api::response_op::Response;
use crate::api::{Compare, KeyValue, PutRequest, RangeRequest, RequestOp, TxnRequest, TxnResponse};
use crate::cluster::{Cluster, EtcdError};
use crate::layout::{Layout, delete, end_of};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Interval at which a candidate looks for the leader.
const POLL: Duration = Duration::from_millis(50);

/// The leadership of one controller. It ends with a lease that has to be extended, or when other candidates have not seen its key change for
/// so long: a new leader of etcd extends all leases by their length and more.
#[derive(Debug)]
pub struct Lead {
    pub(crate) key: Vec<u8>,
    value: Vec<u8>,
    revision: i64,
    lease: i64,
    /// Time for which an answer extends the leadership.
    length: Duration,
    /// When the leadership ends at the earliest, in nanoseconds of the cluster's clock.
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

    /// Extends the leadership. [`EtcdError::Superseded`] if it has ended, or may have.
    pub fn keep(&self, cluster: &mut impl Cluster) -> Result<(), EtcdError> {
        match self.extend(cluster) {
            Err(EtcdError::Superseded) => Err(self.lose()),
            Err(_) if !self.holds(cluster.now()) => Err(self.lose()),
            kept => kept,
        }
    }

    /// Extends the lease, and writes the key again, so that other candidates see that its controller is alive.
    fn extend(&self, cluster: &mut impl Cluster) -> Result<(), EtcdError> {
        let sent = cluster.now();
        if cluster.keep_alive(self.lease)?.ttl <= 0 {
            return Err(EtcdError::Superseded);
        }
        let (compare, success) = (vec![self.compare()], vec![self.put()]);
        if !cluster.transact(TxnRequest { compare, success, failure: vec![] })?.succeeded {
            return Err(EtcdError::Superseded);
        }
        self.until.fetch_max(nanoseconds(sent + self.length), Ordering::SeqCst);
        Ok(())
    }

    /// Writes the key again.
    pub(crate) fn put(&self) -> RequestOp {
        let Lead { key, value, lease, .. } = self;
        let put = PutRequest { key: key.clone(), value: value.clone(), lease: *lease };
        RequestOp { request: Some(Request::RequestPut(put)) }
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

    fn is(&self, pair: &KeyValue) -> bool {
        pair.key == self.key && pair.create_revision == self.revision
    }

    pub(crate) fn is_in(&self, pairs: &[KeyValue]) -> bool {
        pairs.iter().any(|pair| self.is(pair))
    }
}

/// Another candidate's key, and since when it has not changed.
#[derive(Debug)]
struct Seen {
    pair: KeyValue,
    since: Duration,
}

impl Seen {
    /// True if its controller does not lead any more, even if its last call took no time: it has not written its key for the length of its lease. An
    /// eighth is added, since clocks differ.
    fn is_over(&self, now: Duration) -> bool {
        let (seconds, _) = Seen::value(&self.pair);
        seconds.is_some_and(|seconds| now.saturating_sub(self.since) > Duration::from_secs(seconds) * 9 / 8)
    }

    /// Seconds of the candidate's lease, and its description. Earlier versions do not write their keys again, and write no seconds.
    fn value(pair: &KeyValue) -> (Option<u64>, String) {
        let text = String::from_utf8_lossy(&pair.value);
        let parts = text.split_once(' ').and_then(|(seconds, about)| Some((seconds.parse().ok()?, about)));
        match parts {
            Some((seconds, about)) => (Some(seconds), about.to_string()),
            None => (None, text.into_owned()),
        }
    }

    /// Deletes the key, unless its controller has written it meanwhile.
    fn end(&self, cluster: &mut impl Cluster) -> Result<(), EtcdError> {
        let KeyValue { key, mod_revision, .. } = &self.pair;
        let unchanged = Compare {
            result: CompareResult::Equal as i32,
            target: CompareTarget::Mod as i32,
            key: key.clone(),
            target_union: Some(TargetUnion::ModRevision(*mod_revision)),
        };
        let success = vec![delete(key.clone(), [key.as_slice(), &[0]].concat())];
        cluster.transact(TxnRequest { compare: vec![unchanged], success, failure: vec![] }).map(drop)
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
    read_range(RangeRequest { key, ..RangeRequest::default() })
}

pub(crate) fn read_range(range: RangeRequest) -> RequestOp {
    RequestOp { request: Some(Request::RequestRange(range)) }
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
    let mut seen = None;
    loop {
        if cluster.now() >= next {
            // The lease may outlive a time in which etcd does not answer. If it has ended, the key is not there.
            let _ = cluster.keep_alive(lead.lease);
            next = cluster.now() + lead.interval();
        }
        match leads(cluster, layout, &lead, &mut seen, report) {
            Ok(true) => return Ok(lead),
            Ok(false) => {}
            Err(error @ EtcdError::Unreachable(_)) => report(format!("{error}; trying again")),
            Err(error) => return Err(error),
        }
        cluster.pause(POLL);
    }
}

/// True if it is this candidate's turn; it leads then. A candidate before it that does not write its key any more loses its place.
///
/// The member that is asked answers from what it has, however late that is: while etcd has no leader, and for up to seven seconds after a bad moment
/// for it to end, other reads have no answer. A late answer does no harm: keys before a candidate's own one are deleted, never created, and who
/// leads, or deletes a key, does it by a transaction.
fn leads(
    cluster: &mut impl Cluster,
    layout: &Layout,
    lead: &Lead,
    seen: &mut Option<Seen>,
    report: &mut dyn FnMut(String),
) -> Result<bool, EtcdError> {
    let request = RangeRequest {
        range_end: end_of(&layout.candidates()),
        key: layout.candidates(),
        limit: 0,
        sort_order: SortOrder::Ascend as i32,
        sort_target: SortTarget::Create as i32,
        serializable: true,
    };
    let answer = cluster.range(request)?;
    if answer.header.is_none_or(|header| header.revision < lead.revision) {
        // The member does not have this candidate's key yet.
        return Ok(false);
    }
    let all = answer.kvs;
    let is_there = lead.is_in(&all);
    let first = all.into_iter().next().filter(|_| is_there).ok_or(EtcdError::Superseded)?;
    if lead.is(&first) {
        return lead.extend(cluster).map(|()| true);
    }
    report(format!("waiting: {} leads", Seen::value(&first).1));
    match seen {
        Some(seen) if seen.pair == first => {
            if seen.is_over(cluster.now()) {
                seen.end(cluster)?;
            }
        }
        _ => *seen = Some(Seen { pair: first, since: cluster.now() }),
    }
    Ok(false)
}

/// Creates a candidate's key, under a lease.
fn stand(cluster: &mut impl Cluster, layout: &Layout, seconds: i64, about: &str) -> Result<Lead, EtcdError> {
    let sent = cluster.now();
    let granted = cluster.grant(seconds)?;
    let length = Duration::from_secs(u64::try_from(granted.ttl).unwrap_or(0));
    let key = layout.candidate(granted.id);
    let value = format!("{} {about}", length.as_secs()).into_bytes();
    let until = AtomicU64::new(nanoseconds(sent + length));
    let mut lead = Lead { key, value, revision: 0, lease: granted.id, length, until };
    let request = TxnRequest {
        compare: vec![created_at(&lead.key, 0)],
        success: vec![lead.put(), read(lead.key.clone())],
        failure: vec![read(lead.key.clone())],
    };
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
