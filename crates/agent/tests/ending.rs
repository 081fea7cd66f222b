//! A switch ends on request, whatever its controllers do.

#![allow(clippy::disallowed_methods)]

use agent::{Setup, Switch, cable};
use p4runtime_grpc::P4RuntimeClient;
use p4runtime_proto::p4::v1::{
    MasterArbitrationUpdate, StreamMessageRequest, Uint128, stream_message_request::Update,
};
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn a_controller_that_does_not_hang_up_does_not_keep_it() {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let ((bound, address), (ended, end)) = (channel(), channel());
    std::thread::spawn(move || {
        let setup = Setup { cables: vec![(1, cable(1).0)], ..Setup::new(Switch::One(None)) };
        let done = agent::run_until(|| async { drop(stopped.await) }, setup, |at| bound.send(at).unwrap());
        ended.send(done.map(drop)).unwrap();
    });
    let address = address.recv().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Nobody looks after this connection when its first message has come.
    let _stream = runtime.block_on(async {
        let mut client = P4RuntimeClient::connect(format!("http://{address}")).await.unwrap();
        let hello = MasterArbitrationUpdate {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low: 1 }),
            ..Default::default()
        };
        let hello = StreamMessageRequest { update: Some(Update::Arbitration(hello)) };
        let (say, said) = tokio::sync::mpsc::channel(1);
        say.send(hello).await.unwrap();
        let said = tokio_stream::wrappers::ReceiverStream::new(said);
        let mut heard = client.stream_channel(said).await.unwrap().into_inner();
        heard.message().await.unwrap();
        (client, say, heard)
    });
    stop.send(()).unwrap();
    end.recv_timeout(Duration::from_secs(60)).expect("it ends").unwrap();
}
