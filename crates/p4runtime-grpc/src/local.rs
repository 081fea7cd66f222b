//! Calls of the process that runs the switch, as controller and operator, without a connection and without an election id.
//!
//! Calls block: they are not for the threads that serve connections.

use crate::budget::Hold;
use crate::command::{Command, Found, Front, Reply};
use crate::saved::state_of;
use control_writes::Crc;
use controller::{Kinds, QueueChange, Steer, everything_held};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime_proto::p4::v1::{
    Entity, GetForwardingPipelineConfigRequest, ReadRequest, Update, WriteRequest,
};
use p4runtime_proto::p4rack::v1::{Port, SavedState};
use p4runtime_server::Status;
use tokio::sync::oneshot;

/// Handle for calls of the process that runs the switch.
#[derive(Clone)]
pub struct Local(Front);

fn gone() -> Status {
    Status::new(Code::Unavailable, "the device has stopped")
}

impl Front {
    /// Calls of the operator in the process of the switch.
    pub fn local(&self) -> Local {
        Local(self.clone())
    }
}

impl Local {
    fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, Status> {
        let (reply, answer) = oneshot::channel();
        self.0.send_blocking(command(reply)).then_some(()).ok_or_else(gone)?;
        answer.blocking_recv().map_err(|_| gone())?
    }

    /// Applies the updates as a whole or not at all.
    pub fn write(&self, updates: Vec<Update>) -> Result<(), Status> {
        use p4runtime_proto::p4::v1::write_request::Atomicity;
        let request =
            WriteRequest { updates, atomicity: Atomicity::RollbackOnError as i32, ..WriteRequest::default() };
        self.ask(|reply| Command::Operate(Box::new(request), reply))
    }

    /// Reads the entities that match the queries.
    pub fn read(&self, entities: Vec<Entity>) -> Result<Vec<Entity>, Status> {
        self.find(|hold, reply| {
            Command::Read(ReadRequest { entities, ..ReadRequest::default() }, hold, reply)
        })
    }

    fn find(&self, command: impl FnOnce(Hold, Found) -> Command) -> Result<Vec<Entity>, Status> {
        let (reply, answer) = oneshot::channel();
        self.0.send_blocking(command(self.0.budget.hold(None), reply)).then_some(()).ok_or_else(gone)?;
        let (found, ended) = answer.blocking_recv().map_err(|_| gone())?;
        ended.map(|()| found.entities().collect())
    }

    /// The running program, and everything that differs from a switch that has just been started. Frames may pass meanwhile.
    pub fn state(&self) -> Result<SavedState, Status> {
        let request = GetForwardingPipelineConfigRequest {
            response_type: ResponseType::All as i32,
            ..GetForwardingPipelineConfigRequest::default()
        };
        let config = self.ask(|reply| Command::GetConfig(request, reply))?.config;
        let all = ReadRequest { entities: everything_held(Kinds::All), ..ReadRequest::default() };
        let entities = self.find(|hold, reply| Command::ReadRunning(all, hold, reply))?;
        Ok(state_of(config, entities))
    }

    /// The P4Info of the running program; `None` without one.
    pub fn p4info(&self) -> Result<Option<P4Info>, Status> {
        let request = GetForwardingPipelineConfigRequest {
            response_type: ResponseType::P4infoAndCookie as i32,
            ..GetForwardingPipelineConfigRequest::default()
        };
        match self.ask(|reply| Command::GetConfig(request, reply)) {
            Ok(response) => Ok(response.config.and_then(|config| config.p4info)),
            Err(status) if status.code == Code::FailedPrecondition => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Resets registers and counters.
    pub fn reset(&self) -> Result<(), Status> {
        self.ask(|reply| Command::Steer(None, Steer::Reset, reply))
    }

    /// Name and algorithm of each calculation of the running program.
    pub fn calculations(&self) -> Result<Vec<(String, String)>, Status> {
        let (reply, answer) = oneshot::channel();
        self.0.send_blocking(Command::Calculations(reply)).then_some(()).ok_or_else(gone)?;
        answer.blocking_recv().map_err(|_| gone())
    }

    /// Sets the parameters of a calculation with a custom CRC of 16 or 32 bits.
    pub fn set_crc(&self, calculation: String, width: u32, to: Crc) -> Result<(), Status> {
        self.ask(|reply| Command::Steer(None, Steer::SetCrc { calculation, width, to }, reply))
    }

    /// Sets limits of queues behind ports.
    pub fn set_queues(&self, change: QueueChange) -> Result<(), Status> {
        self.ask(|reply| Command::Steer(None, Steer::SetQueues(change), reply))
    }

    /// The ports with their frame counts.
    pub fn ports(&self) -> Result<Vec<Port>, Status> {
        let (reply, answer) = oneshot::channel();
        self.0.send_blocking(Command::Show(reply)).then_some(()).ok_or_else(gone)?;
        answer.blocking_recv().map(|shown| shown.ports).map_err(|_| gone())
    }

    /// Adds a port, written as for `-i`.
    pub fn add_port(&self, port: String) -> Result<(), Status> {
        self.ask(|reply| Command::AddPort(port, reply))
    }

    /// Removes a port.
    pub fn remove_port(&self, port: u32) -> Result<(), Status> {
        self.ask(|reply| Command::RemovePort(port, reply))
    }
}
