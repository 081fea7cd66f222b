//! The switch of this process, as the services see it.

use crate::notifications::Notifications;
use bmv2::{Calculation, Learning, Port, Switch};
use control_writes::Crc;
use p4runtime_grpc::{Local, QueueChange, QueueLimit, Status};
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{Entity, Update};
use p4runtime_proto::p4rack::v1::SavedState;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tracing::info;

/// See the module.
pub struct LocalSwitch {
    local: Local,
    started: Instant,
    notifications: Option<Notifications>,
}

impl LocalSwitch {
    pub fn new(local: Local, notifications: Option<Notifications>) -> LocalSwitch {
        LocalSwitch { local, started: Instant::now(), notifications }
    }
}

impl Switch for LocalSwitch {
    fn p4info(&mut self) -> Result<Option<P4Info>, Status> {
        self.local.p4info()
    }

    fn write(&mut self, updates: Vec<Update>) -> Result<(), Status> {
        self.local.write(updates)
    }

    fn read(&mut self, queries: Vec<Entity>) -> Result<Vec<Entity>, Status> {
        self.local.read(queries)
    }

    fn state(&mut self) -> Result<SavedState, Status> {
        self.local.state()
    }

    fn reset(&mut self) -> Result<(), Status> {
        self.local.reset()
    }

    fn calculations(&mut self) -> Result<Vec<Calculation>, Status> {
        let all = self.local.calculations()?.into_iter();
        Ok(all.map(|(name, algorithm)| Calculation { name, algorithm }).collect())
    }

    fn set_crc(&mut self, calculation: &str, width: u32, to: Crc) -> Result<(), Status> {
        self.local.set_crc(calculation.to_string(), width, to)
    }

    fn set_queue_depth(
        &mut self,
        port: Option<u32>,
        priority: Option<u32>,
        packets: u32,
    ) -> Result<(), Status> {
        self.local.set_queues(QueueChange { port, priority, limit: QueueLimit::Depth(packets) })
    }

    fn set_queue_rate(
        &mut self,
        port: Option<u32>,
        priority: Option<u32>,
        packets: u64,
    ) -> Result<(), Status> {
        self.local.set_queues(QueueChange { port, priority, limit: QueueLimit::Rate(packets) })
    }

    fn learning(&mut self, change: &mut dyn FnMut(&mut Learning) -> Option<Vec<u8>>) -> Option<()> {
        let notifications = self.notifications.as_ref()?;
        let complete = change(&mut notifications.lock());
        complete.into_iter().for_each(|message| notifications.send(message));
        Some(())
    }

    fn ports(&mut self) -> Result<Vec<Port>, Status> {
        let port = |port: p4runtime_proto::p4rack::v1::Port| Port {
            number: port.number,
            name: port.kind.strip_prefix("packet:").unwrap_or(&port.kind).to_string(),
            is_up: port.is_up,
        };
        Ok(self.local.ports()?.into_iter().map(port).collect())
    }

    fn add_port(&mut self, number: u32, interface: &str) -> Result<(), Status> {
        self.local.add_port(format!("{number}@{interface}"))
    }

    fn remove_port(&mut self, number: u32) -> Result<(), Status> {
        self.local.remove_port(number)
    }

    fn times_us(&mut self) -> (i64, i64) {
        let us = |time: std::time::Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        (us(self.started.elapsed()), us(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()))
    }

    fn note(&mut self, method: &str, why: &str) {
        info!(method, "{why}");
    }
}
