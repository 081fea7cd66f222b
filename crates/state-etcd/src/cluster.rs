//! Calls to a cluster of etcd.

use crate::api::{
    LeaseGrantResponse, LeaseKeepAliveResponse, RangeRequest, RangeResponse, TxnRequest, TxnResponse,
};
use std::fmt;
use std::time::Duration;

/// A cluster of etcd, and a clock that never goes back.
pub trait Cluster {
    /// Reads a range of keys.
    fn range(&mut self, request: RangeRequest) -> Result<RangeResponse, EtcdError>;
    /// Executes a transaction.
    fn transact(&mut self, request: TxnRequest) -> Result<TxnResponse, EtcdError>;
    /// Creates a lease of so many seconds, or more.
    fn grant(&mut self, seconds: i64) -> Result<LeaseGrantResponse, EtcdError>;
    /// Extends a lease.
    fn keep_alive(&mut self, lease: i64) -> Result<LeaseKeepAliveResponse, EtcdError>;
    /// Ends a lease, and deletes its keys.
    fn revoke(&mut self, lease: i64) -> Result<(), EtcdError>;
    /// Time since a fixed moment.
    fn now(&self) -> Duration;
    /// Waits.
    fn pause(&mut self, length: Duration);
}

/// Why etcd cannot keep the state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EtcdError {
    /// No answer has come in time. The call may have been executed, or may be executed later.
    Unreachable(String),
    /// etcd has refused a request.
    Refused(String),
    /// A file of the address cannot be used.
    Unusable(String),
    /// Another controller leads, or may lead.
    Superseded,
    /// The kept state cannot be read.
    Unreadable(String),
}

impl fmt::Display for EtcdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EtcdError::Unreachable(why) => write!(f, "etcd cannot be reached: {why}"),
            EtcdError::Refused(why) => write!(f, "etcd has refused a request: {why}"),
            EtcdError::Unusable(why) => f.write_str(why),
            EtcdError::Superseded => {
                f.write_str("this controller no longer leads: its lease in etcd has ended")
            }
            EtcdError::Unreadable(why) => write!(f, "the state in etcd: {why}"),
        }
    }
}

impl std::error::Error for EtcdError {}
