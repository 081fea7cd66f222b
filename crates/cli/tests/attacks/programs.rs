//! Programs that take long to read.

use crate::setup::{GIGABYTE, Victim, alone, at_length, runtime, stream};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, SetForwardingPipelineConfigRequest};
use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The program that runs, with statements that do nothing.
fn program(ifs: usize) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/benches/served/l2.p4");
    let text = std::fs::read_to_string(path).unwrap();
    let line = |n: usize| {
        format!("        if (hdr.ethernet.src == 48w{n}) {{ hdr.ethernet.ether_type = 16w{}; }}\n", n % 65536)
    };
    let many: String = (0..ifs).map(line).collect();
    text.replacen("        sources.apply();\n", &format!("        sources.apply();\n{many}"), 1).into_bytes()
}

/// A program of 20,000 `if`s kept every frame waiting for ten seconds: it was compiled by the thread that runs frames. No test had
/// sent frames while a program came in.
#[test]
fn frames_pass_while_a_program_is_compiled() {
    let _alone = alone();
    let ifs = if at_length() { 20_000 } else { 400 };
    let outside = UdpSocket::bind("127.0.0.1:0").unwrap();
    outside.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let inside = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let port = format!("1@udp:{inside},{}", outside.local_addr().unwrap());
    let victim = Victim::start(GIGABYTE, &["-i", &port]);
    outside.connect(inside).unwrap();
    let address = victim.address.clone();
    let is_done = AtomicBool::new(false);
    let (passed, worst, took) = std::thread::scope(|scope| {
        let (entered, enter) = std::sync::mpsc::channel();
        let is_done = &is_done;
        let pushed = scope.spawn(move || {
            runtime().block_on(async {
                let mut client = crate::setup::connect(&address).await;
                let _stream = stream(&mut client, 1).await;
                let ids = crate::setup::ids(&mut client).await;
                // Frames for 00:00:00:00:00:01 leave by port 1, on which they came.
                client.write(crate::setup::entries(ids, 1, "INSERT", 0..1)).await.unwrap();
                let request = "device_id: 1 election_id { low: 1 } action: RECONCILE_AND_COMMIT";
                let mut request: SetForwardingPipelineConfigRequest = from_text(request).unwrap();
                // The statements change nothing of the P4Info.
                let config = crate::setup::running(&mut client).await;
                request.config = Some(ForwardingPipelineConfig { p4_device_config: program(ifs), ..config });
                entered.send(()).unwrap();
                let asked = Instant::now();
                client.set_forwarding_pipeline_config(request).await.unwrap();
                is_done.store(true, Ordering::SeqCst);
                asked.elapsed()
            })
        });
        enter.recv().unwrap();
        let frame = [vec![0, 0, 0, 0, 0, 1], vec![2, 0, 0, 0, 0, 1], vec![8, 0], vec![0; 46]].concat();
        let (mut passed, mut worst) = (0, Duration::ZERO);
        let mut buffer = [0; 2048];
        while !is_done.load(Ordering::SeqCst) && !pushed.is_finished() {
            let sent = Instant::now();
            outside.send(&frame).unwrap();
            outside.recv(&mut buffer).unwrap();
            worst = worst.max(sent.elapsed());
            passed += usize::from(!is_done.load(Ordering::SeqCst));
        }
        (passed, worst, pushed.join().unwrap())
    });
    eprintln!("a program of {ifs} ifs: {took:?}, meanwhile {passed} frames, the longest wait {worst:?}");
    assert!(passed > 10, "{passed} frames passed");
}
