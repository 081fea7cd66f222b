//! The state, as the leader keeps it.

use crate::api::compare::{CompareResult, CompareTarget, TargetUnion};
use crate::api::{Compare, KeyValue, RangeRequest, RequestOp, TxnRequest};
use crate::cluster::{Cluster, EtcdError};
use crate::layout::{Found, Layout, delete, end_of, is_long, put, transactions};
use crate::leader::{Lead, created_at, pairs, read, read_range};
use p4runtime_proto::p4rack::v1::SavedState;
use prost::Message;
use state_journal::{Batch, Kept, Store};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Time between two tries of a transaction.
const PAUSE: Duration = Duration::from_millis(20);

/// Most pairs in one answer.
const PAGE: i64 = 500;

/// A state in etcd, which only the leader writes.
#[derive(Debug)]
pub struct StateEtcd<C> {
    cluster: C,
    layout: Layout,
    lead: Arc<Lead>,
    /// The mark of the last transaction, as far as known; `None` if there was none.
    mark: Option<Vec<u8>>,
    /// Number of this leader's transactions.
    count: u64,
    /// The present generation, and the latest that was tried.
    generation: u64,
    latest: u64,
    long: BTreeSet<Vec<u8>>,
    /// False while there may be a journal.
    is_settled: bool,
}

impl<C: Cluster> StateEtcd<C> {
    /// Takes over the state from earlier leaders. With the state that is kept, if there is one; if `is_fresh`, without it, and the first batch
    /// replaces it. After an error the cluster comes back.
    pub fn open(
        cluster: C,
        layout: Layout,
        lead: Arc<Lead>,
        is_fresh: bool,
    ) -> Result<(StateEtcd<C>, Option<SavedState>), (C, EtcdError)> {
        let mut store = StateEtcd {
            cluster,
            layout,
            lead,
            mark: None,
            count: 0,
            generation: 0,
            latest: 0,
            long: BTreeSet::new(),
            is_settled: false,
        };
        let kept = store.take_over();
        if !store.lead.holds(store.cluster.now()) {
            // The next leader may have changed what was read.
            let error = store.lead.lose();
            return Err((store.cluster, error));
        }
        match kept {
            Ok(kept) => Ok((store, kept.filter(|_| !is_fresh))),
            Err(error) => Err((store.cluster, error)),
        }
    }

    /// The connection to etcd.
    pub fn cluster(&mut self) -> &mut C {
        &mut self.cluster
    }

    /// Ends the store.
    pub fn into_cluster(self) -> C {
        self.cluster
    }

    fn take_over(&mut self) -> Result<Option<SavedState>, EtcdError> {
        self.mark = self.get(self.layout.mark())?;
        // The journal of another version is left alone.
        let format = self.get(self.layout.format())?.unwrap_or_default();
        let format = String::from_utf8_lossy(&format).into_owned();
        saved(&Kept { format, ..Kept::default() })?;
        self.settle()?;
        let all = self.all()?;
        let Found { kept, generation, long } = self.layout.read(&all)?;
        (self.generation, self.latest, self.long) = (generation, generation, long);
        saved(&kept)
    }

    fn get(&mut self, key: Vec<u8>) -> Result<Option<Vec<u8>>, EtcdError> {
        let found = self.range(RangeRequest { key, ..RangeRequest::default() })?;
        Ok(found.into_iter().next().map(|pair| pair.value))
    }

    /// Everything of the state but the journal, which has no place in it any more.
    fn all(&mut self) -> Result<Vec<KeyValue>, EtcdError> {
        let (mut key, range_end) = (self.layout.state(), end_of(&self.layout.state()));
        let mut all = vec![];
        loop {
            let request =
                RangeRequest { key, range_end: range_end.clone(), limit: PAGE, ..RangeRequest::default() };
            let page = self.range(request)?;
            let Some(last) = page.last().filter(|_| page.len() as i64 == PAGE) else {
                all.extend(page);
                return Ok(all);
            };
            key = last.key.clone();
            key.push(0);
            all.extend(page);
        }
    }

    /// Reads a range while this process leads. It writes the leader's key, because etcd answers a transaction that writes when other reads may wait
    /// for seconds (see [`seek`](crate::seek)).
    fn range(&mut self, range: RangeRequest) -> Result<Vec<KeyValue>, EtcdError> {
        let request = TxnRequest {
            compare: vec![self.lead.compare()],
            success: vec![self.lead.put(), read_range(range)],
            failure: vec![],
        };
        loop {
            match self.cluster.transact(request.clone()) {
                Ok(answer) if answer.succeeded => return Ok(pairs(&answer)),
                Ok(_) => return Err(self.lead.lose()),
                Err(EtcdError::Unreachable(_)) if self.lead.holds(self.cluster.now()) => {
                    self.cluster.pause(PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Executes a whole journal, and removes one that is not.
    fn settle(&mut self) -> Result<(), EtcdError> {
        let unreadable = || EtcdError::Unreadable("`journal` is damaged, and stays as it is".to_string());
        if let Some(count) = self.get(self.layout.journal_is_whole())? {
            let count = String::from_utf8_lossy(&count).parse().map_err(|_| unreadable())?;
            for number in 0..count {
                let entry = self.get(self.layout.journal_entry(number))?.ok_or_else(unreadable)?;
                let entry = TxnRequest::decode(entry.as_slice()).map_err(|_| unreadable())?;
                self.transact(entry.success)?;
            }
        }
        let (journal, end) = (self.layout.journal(), end_of(&self.layout.journal()));
        self.transact(vec![delete(journal, end)])?;
        self.is_settled = true;
        Ok(())
    }

    /// Does a batch. After an error it is unknown whether it is kept, and the next batch has to contain it.
    fn keep(&mut self, batch: &Batch) -> Result<(), EtcdError> {
        if !self.is_settled {
            self.settle()?;
        }
        let mut generation = self.generation;
        if batch.program.is_some() {
            // A generation of its own, in case an earlier try is still under way.
            self.latest += 1;
            generation = self.latest;
            self.long.clear();
        }
        let operations = self.layout.operations(batch, generation, &self.long);
        let long = batch.rows.iter().filter(|(_, value)| value.as_deref().is_some_and(is_long));
        self.long.extend(long.map(|(key, _)| key.clone()));
        let mut parts = transactions(operations);
        match (parts.len(), parts.pop()) {
            (1, Some(only)) => self.transact(only)?,
            (_, last) => {
                parts.extend(last);
                self.keep_by_journal(&parts)?;
            }
        }
        self.generation = generation;
        Ok(())
    }

    fn keep_by_journal(&mut self, parts: &[Vec<RequestOp>]) -> Result<(), EtcdError> {
        self.is_settled = false;
        for (number, part) in parts.iter().enumerate() {
            let entry = TxnRequest { success: part.clone(), ..TxnRequest::default() };
            self.transact(vec![put(self.layout.journal_entry(number), entry.encode_to_vec())])?;
        }
        self.transact(vec![put(self.layout.journal_is_whole(), parts.len().to_string().into_bytes())])?;
        self.settle()
    }

    /// Executes operations once, while this process leads.
    fn transact(&mut self, mut operations: Vec<RequestOp>) -> Result<(), EtcdError> {
        self.count += 1;
        let mark = format!("{:016x}/{}", self.lead.term(), self.count).into_bytes();
        operations.push(put(self.layout.mark(), mark.clone()));
        let mut request = TxnRequest {
            compare: vec![],
            success: operations,
            failure: vec![read(self.lead.key.clone()), read(self.layout.mark())],
        };
        loop {
            request.compare = vec![self.lead.compare(), self.compare_mark()];
            match self.cluster.transact(request.clone()) {
                Ok(answer) if answer.succeeded => break,
                Ok(answer) => {
                    let found = pairs(&answer);
                    if !self.lead.is_in(&found) {
                        return Err(self.lead.lose());
                    }
                    // An earlier transaction of this leader whose answer was lost, or this one.
                    let own = found.into_iter().find(|pair| pair.key == self.layout.mark());
                    self.mark = own.map(|pair| pair.value);
                    if self.mark.as_ref() == Some(&mark) {
                        break;
                    }
                }
                Err(EtcdError::Unreachable(_)) if self.lead.holds(self.cluster.now()) => {
                    self.cluster.pause(PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
        self.mark = Some(mark);
        Ok(())
    }

    fn compare_mark(&self) -> Compare {
        let key = self.layout.mark();
        match &self.mark {
            None => created_at(&key, 0),
            Some(mark) => Compare {
                result: CompareResult::Equal as i32,
                target: CompareTarget::Value as i32,
                key,
                target_union: Some(TargetUnion::Value(mark.clone())),
            },
        }
    }
}

fn saved(kept: &Kept) -> Result<Option<SavedState>, EtcdError> {
    kept.state().map_err(|why| EtcdError::Unreadable(why.to_string()))
}

impl<C: Cluster + Send> Store for StateEtcd<C> {
    fn commit(&mut self, batch: &Batch) -> Result<(), String> {
        self.keep(batch).map_err(|error| error.to_string())
    }
}
