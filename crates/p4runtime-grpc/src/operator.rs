//! An operator's connection to a switch. Calls block, so that the client is compiled in this crate.

use crate::generated::p4_runtime_client::P4RuntimeClient;
use crate::generated_rack::rack_client::RackClient;
use crate::secret::{Badge, Secret};
use crate::serve::{MOST_BYTES, chain};
use crate::tls::{ClientTls, endpoint, failure};
use p4runtime_proto::p4::v1::{Entity, ReadRequest, ReadResponse, TableEntry, entity};
use p4runtime_proto::p4rack::v1::steer_request::What;
use p4runtime_proto::p4rack::v1::{ShowRequest, ShowResponse, SteerRequest, TraceRequest, TraceResponse};
use std::error::Error;
use std::fmt;
use std::time::Duration;
use tokio::runtime::Runtime;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

/// Time after which a switch that does not answer is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection, over which one request is made after the other.
pub struct Operator {
    pub(crate) runtime: Runtime,
    pub(crate) rack: RackClient<InterceptedService<Channel, Badge>>,
    pub(crate) switch: P4RuntimeClient<InterceptedService<Channel, Badge>>,
    pub(crate) address: String,
}

/// Why a request was not done.
#[derive(Debug)]
pub struct OperatorError(String);

impl OperatorError {
    /// A request that cannot be made.
    pub fn new(why: String) -> OperatorError {
        OperatorError(why)
    }
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for OperatorError {}

impl Operator {
    /// Connects to where a switch listens, `host:port`.
    pub fn connect(
        address: &str,
        tls: Option<&ClientTls>,
        secret: Option<Secret>,
    ) -> Result<Operator, OperatorError> {
        let failed = |error: &dyn fmt::Display| OperatorError(format!("no switch at {address}: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(&error))?;
        let endpoint = endpoint(address, tls).map_err(|error| failed(&error))?;
        let endpoint = endpoint.connect_timeout(PATIENCE).timeout(PATIENCE);
        let channel = runtime
            .block_on(endpoint.connect())
            .map_err(|error| failed(&format!("{}; `p4rack switch` starts one", chain(&error))))?;
        let rack = RackClient::with_interceptor(channel.clone(), Badge::new(secret.clone()))
            .max_decoding_message_size(MOST_BYTES);
        let switch = P4RuntimeClient::with_interceptor(channel, Badge::new(secret))
            .max_decoding_message_size(MOST_BYTES);
        Ok(Operator { runtime, rack, switch, address: address.to_string() })
    }

    /// Description and counters of the switch.
    pub fn show(&mut self) -> Result<ShowResponse, OperatorError> {
        self.runtime
            .block_on(self.rack.show(ShowRequest {}))
            .map(tonic::Response::into_inner)
            .map_err(|status| refused(&self.address, &status))
    }

    /// The entries of all tables of the device with this id.
    pub fn entries(&mut self, device_id: u64) -> Result<ReadResponse, OperatorError> {
        let of_tables = Entity { entity: Some(entity::Entity::TableEntry(TableEntry::default())) };
        let request = ReadRequest { device_id, entities: vec![of_tables], ..ReadRequest::default() };
        let (switch, mut all) = (&mut self.switch, ReadResponse::default());
        let read = async {
            let mut pieces = switch.read(request).await?.into_inner();
            while let Some(piece) = pieces.message().await? {
                all.entities.extend(piece.entities);
            }
            Ok(())
        };
        let read: Result<(), tonic::Status> = self.runtime.block_on(read);
        read.map(|()| all).map_err(|status| refused(&self.address, &status))
    }

    /// Has something done.
    pub fn steer(&mut self, what: What) -> Result<(), OperatorError> {
        let request = SteerRequest { election_id: None, what: Some(what) };
        self.runtime
            .block_on(self.rack.steer(request))
            .map(drop)
            .map_err(|status| refused(&self.address, &status))
    }

    /// Traces a frame.
    pub fn trace(&mut self, port: u32, frame: Vec<u8>) -> Result<TraceResponse, OperatorError> {
        let request = TraceRequest { port, frame };
        self.runtime
            .block_on(self.rack.trace(request))
            .map(tonic::Response::into_inner)
            .map_err(|status| refused(&self.address, &status))
    }
}

pub(crate) fn refused(address: &str, status: &tonic::Status) -> OperatorError {
    match status.code() {
        tonic::Code::Unimplemented if status.message().is_empty() => {
            OperatorError("this is a P4Runtime server, but not one of p4rack's".to_string())
        }
        _ if status.source().is_some() => {
            OperatorError(format!("no answer from {address}: {}", failure(status)))
        }
        _ => OperatorError(status.message().to_string()),
    }
}
