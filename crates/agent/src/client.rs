//! An operator's connection to a switch.

use p4runtime_grpc::{Badge, ClientTls, RackClient, Secret};
use p4runtime_proto::p4rack::v1::steer_request::What;
use p4runtime_proto::p4rack::v1::{ShowRequest, ShowResponse, SteerRequest, TraceRequest, TraceResponse};
use std::error::Error;
use std::fmt;
use std::time::Duration;
use tokio::runtime::Runtime;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

/// A switch that does not answer for so long is not asked any more.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection, over which one request is made after the other.
pub struct Client {
    runtime: Runtime,
    rack: RackClient<InterceptedService<Channel, Badge>>,
    address: String,
}

/// Why a request was not done.
#[derive(Debug)]
pub struct ClientError(String);

impl ClientError {
    /// A request that cannot be made.
    pub fn new(why: String) -> ClientError {
        ClientError(why)
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ClientError {}

impl Client {
    /// Connects to where a switch listens, `host:port`.
    pub fn connect(
        address: &str,
        tls: Option<&ClientTls>,
        secret: Option<Secret>,
    ) -> Result<Client, ClientError> {
        let failed = |error: &dyn fmt::Display| ClientError(format!("no switch at {address}: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(&error))?;
        let endpoint = p4runtime_grpc::endpoint(address, tls).map_err(|error| failed(&error))?;
        let endpoint = endpoint.connect_timeout(PATIENCE).timeout(PATIENCE);
        let channel = runtime.block_on(endpoint.connect()).map_err(|error| {
            failed(&format!("{}; `p4rack switch` starts one", p4runtime_grpc::chain(&error)))
        })?;
        let rack = RackClient::with_interceptor(channel, Badge::new(secret));
        Ok(Client { runtime, rack, address: address.to_string() })
    }

    /// What the switch is made of, and what it has counted.
    pub fn show(&mut self) -> Result<ShowResponse, ClientError> {
        self.runtime
            .block_on(self.rack.show(ShowRequest {}))
            .map(tonic::Response::into_inner)
            .map_err(|status| refused(&self.address, &status))
    }

    /// Has something done.
    pub fn steer(&mut self, what: What) -> Result<(), ClientError> {
        let request = SteerRequest { election_id: None, what: Some(what) };
        self.runtime
            .block_on(self.rack.steer(request))
            .map(drop)
            .map_err(|status| refused(&self.address, &status))
    }

    /// The way of a frame.
    pub fn trace(&mut self, port: u32, frame: Vec<u8>) -> Result<TraceResponse, ClientError> {
        let request = TraceRequest { port, frame };
        self.runtime
            .block_on(self.rack.trace(request))
            .map(tonic::Response::into_inner)
            .map_err(|status| refused(&self.address, &status))
    }
}

fn refused(address: &str, status: &tonic::Status) -> ClientError {
    match status.code() {
        tonic::Code::Unimplemented if status.message().is_empty() => {
            ClientError("this is a P4Runtime server, but not one of p4rack's".to_string())
        }
        _ if status.source().is_some() => {
            ClientError(format!("no answer from {address}: {}", p4runtime_grpc::failure(status)))
        }
        _ => ClientError(status.message().to_string()),
    }
}
