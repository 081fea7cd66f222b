//! Programs with megabytes of text, and copies of them.

use crate::honest::Honest;
use crate::raw::Frames;
use crate::setup::{Client, GIGABYTE, Victim, alone, at_length, running, runtime, stream};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, SetForwardingPipelineConfigRequest};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use tonic::{Code, Status};

/// Pushes the program that runs, with comments: so many bytes in all.
async fn push(client: &mut Client, bytes: usize) -> Result<(), Status> {
    let config = running(client).await;
    let comment = b"// A comment.\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/benches/served/l2.p4");
    let mut text = std::fs::read(path).unwrap();
    text.extend(
        comment.iter().cycle().take(bytes.saturating_sub(text.len()) / comment.len() * comment.len()),
    );
    let request = "device_id: 1 election_id { low: 1 } action: RECONCILE_AND_COMMIT";
    let mut request: SetForwardingPipelineConfigRequest = from_text(request).unwrap();
    request.config = Some(ForwardingPipelineConfig { p4_device_config: text.into(), ..config });
    client.set_forwarding_pipeline_config(request).await.map(drop)
}

/// A copy was made for each of 64 calls of each connection before anybody looked whether there was memory for it, and each took the thread for
/// connections some 15 ms. Now the text is sent without a copy.
#[test]
fn copies_of_a_large_program_take_little() {
    let _alone = alone();
    let mut victim = Victim::start(GIGABYTE, &[]);
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let _stream = stream(&mut client, 1).await;
        push(&mut client, 15_000_000).await.unwrap();
        let refused = push(&mut client, 17_000_000).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
        assert!(refused.message().contains("and the limit is 16777216"), "{refused}");
    });
    let before = victim.memory();
    victim.forget_most_memory();
    let honest = Honest::start(&victim, 7);
    // Calls whose answers nobody reads.
    let (connections, calls) = if at_length() { (60, 30) } else { (20, 20) };
    let attack = |_| {
        let mut stream = TcpStream::connect(&victim.address).unwrap();
        let mut frames = Frames::begin();
        for call in 0..calls {
            frames.call(2 * call + 1, "/p4.v1.P4Runtime/GetForwardingPipelineConfig");
            frames.add(0, 1, 2 * call + 1, &[0, 0, 0, 0, 2, 8, 1]);
        }
        stream.write_all(frames.bytes()).unwrap();
        stream
    };
    let unread: Vec<TcpStream> = (0..connections).map(attack).collect();
    // A client that reads it gets it.
    runtime().block_on(async {
        let mut client = victim.connect().await;
        let request = p4runtime_proto::p4::v1::GetForwardingPipelineConfigRequest {
            device_id: 1,
            ..Default::default()
        };
        let mut refused = 0;
        while let Err(why) = client.get_forwarding_pipeline_config(request).await {
            assert_eq!(why.code(), Code::ResourceExhausted, "{why}");
            refused += 1;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        eprintln!("an answer for a client that reads it, after {refused} refusals");
    });
    assert!(victim.ctl(&["show"]).status.success());
    drop(unread);
    let most = victim.most_memory();
    eprintln!("copies of a large program: {} MiB at most", most >> 20);
    // Shared pages of the file included; not one copy for each client.
    assert!(most < before + (96 << 20), "{before} bytes before, {most} at most");
    honest.end("copies of a large program");
    victim.is_as_before(before, "copies of a large program");
}
