//! Several devices behind one address.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use p4runtime_grpc::{
    Budget, Command, Devices, Front, Limits, P4RuntimeClient, Secret, Streams, queue, serve_devices,
};
use p4runtime_proto::google::rpc::Status;
use p4runtime_proto::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, MasterArbitrationUpdate, PacketOut, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, Update, WriteRequest,
    stream_message_request::Update as Said, stream_message_response::Update as ResponseUpdate,
};
use std::net::TcpListener;
use std::thread;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

/// A device that agrees to everything, and names itself where an answer can.
fn device(name: &'static str) -> Front {
    let (front, incoming) = queue(64, Limits::default(), Budget::default());
    thread::spawn(move || {
        let mut streams = Streams::default();
        for command in incoming {
            match command.take() {
                Command::Open(stream, listener) => streams.open(stream, listener),
                Command::Close(stream) => streams.close(stream),
                Command::Message(stream, message, ..) => {
                    let Some(Said::Arbitration(arbitration)) = message.update else { continue };
                    let status = Some(Status { message: name.to_string(), ..Status::default() });
                    let update = MasterArbitrationUpdate { status, ..arbitration };
                    streams.send(
                        stream,
                        StreamMessageResponse { update: Some(ResponseUpdate::Arbitration(update)) },
                    );
                }
                Command::MayWrite(_, reply) | Command::MaySetConfig(_, reply) => drop(reply.send(Ok(()))),
                Command::Write(_, _, reply) | Command::SetConfig(_, _, reply) => {
                    drop(reply.send(refused(name)))
                }
                Command::Read(_, _, reply) => {
                    drop(reply.send((p4runtime_grpc::Pieces::default(), refused(name))));
                }
                Command::GetConfig(_, reply) => {
                    drop(reply.send(Ok(GetForwardingPipelineConfigResponse::default())));
                }
                Command::Capabilities(reply) => {
                    let p4runtime_api_version = name.to_string();
                    drop(
                        reply.send(Ok(CapabilitiesResponse { p4runtime_api_version, ..Default::default() })),
                    );
                }
                Command::Stop => return,
                _ => {}
            }
        }
    });
    front
}

fn refused(name: &str) -> Result<(), p4runtime_grpc::Status> {
    let code = p4runtime_proto::google::rpc::Code::AlreadyExists;
    Err(p4runtime_grpc::Status { code, message: name.to_string(), details: vec![] })
}

async fn served(devices: Devices) -> P4RuntimeClient<Channel> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let forever = Box::pin(std::future::pending());
        runtime
            .block_on(serve_devices(listener, devices, (Limits::default(), Budget::default()), forever))
            .unwrap();
    });
    P4RuntimeClient::new(Endpoint::from_shared(address).unwrap().connect().await.unwrap())
}

fn arbitration(device_id: u64) -> StreamMessageRequest {
    let update = MasterArbitrationUpdate { device_id, ..MasterArbitrationUpdate::default() };
    StreamMessageRequest { update: Some(Said::Arbitration(update)) }
}

/// The first answer on a stream that sends these messages.
async fn answer(
    client: &mut P4RuntimeClient<Channel>,
    says: StreamMessageRequest,
) -> Result<String, (Code, String)> {
    let (to, from) = mpsc::channel(4);
    // The answer's head comes before anything is said.
    let mut reported = client.stream_channel(ReceiverStream::new(from)).await.unwrap().into_inner();
    to.send(says).await.unwrap();
    match reported.next().await.unwrap() {
        Ok(StreamMessageResponse { update: Some(ResponseUpdate::Arbitration(update)) }) => {
            Ok(update.status.unwrap().message)
        }
        Ok(other) => panic!("{other:?}"),
        Err(status) => Err((status.code(), status.message().to_string())),
    }
}

#[tokio::test]
async fn each_call_goes_to_the_device_that_it_names() {
    let mut client = served(Devices::new([(1, device("one")), (7, device("seven"))])).await;
    for (device_id, name) in [(7, "seven"), (1, "one")] {
        // Short ones are decoded at once, of long ones the head is read first.
        for updates in [1, 20_000] {
            let request =
                WriteRequest { device_id, updates: vec![Update::default(); updates], ..Default::default() };
            assert_eq!(client.write(request).await.unwrap_err().message(), name);
        }
        let config = SetForwardingPipelineConfigRequest { device_id, ..Default::default() };
        assert_eq!(client.set_forwarding_pipeline_config(config).await.unwrap_err().message(), name);
        let request = ReadRequest { device_id, role: "a role".to_string(), ..Default::default() };
        let mut found = client.read(request).await.unwrap().into_inner();
        assert_eq!(found.next().await.unwrap().unwrap_err().message(), name);
        assert_eq!(answer(&mut client, arbitration(device_id)).await, Ok(name.to_string()));
    }
    for (device_id, name) in [(0, "one"), (1, "one"), (7, "seven")] {
        let found = client.capabilities(CapabilitiesRequest { device_id }).await.unwrap().into_inner();
        assert_eq!(found.p4runtime_api_version, name);
    }
    assert_eq!(
        client.capabilities(CapabilitiesRequest { device_id: 2 }).await.unwrap_err().code(),
        Code::NotFound
    );

    let unknown = "there is no device with id 2: here are the devices 1, 7".to_string();
    let config = GetForwardingPipelineConfigRequest { device_id: 2, ..Default::default() };
    let refused = client.get_forwarding_pipeline_config(config).await.unwrap_err();
    assert_eq!((refused.code(), refused.message()), (Code::NotFound, unknown.as_str()));
    assert_eq!(answer(&mut client, arbitration(2)).await, Err((Code::NotFound, unknown)));
    let packet = StreamMessageRequest { update: Some(Said::Packet(PacketOut::default())) };
    let (code, why) = answer(&mut client, packet).await.unwrap_err();
    assert_eq!(code, Code::FailedPrecondition);
    assert!(why.contains("MasterArbitrationUpdate"), "{why}");
}

#[tokio::test]
async fn a_device_with_a_secret_keeps_it_there() {
    let guarded = device("guarded");
    guarded.guard(Secret::new("0123456789abcdef"), false);
    let mut client = served(Devices::new([(1, device("one")), (2, guarded)])).await;
    assert_eq!(answer(&mut client, arbitration(1)).await, Ok("one".to_string()));
    assert_eq!(answer(&mut client, arbitration(2)).await.unwrap_err().0, Code::Unauthenticated);
    let request = WriteRequest { device_id: 2, ..WriteRequest::default() };
    assert_eq!(client.write(request).await.unwrap_err().code(), Code::Unauthenticated);
}
