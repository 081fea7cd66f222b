//! Programs and writes that take long, while frames pass.

use crate::honest::{Holds, Honest};
use crate::setup::{
    Client, GIGABYTE, LARGE, Victim, alone, at_length, count, entries, ids, running, runtime, stream,
};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, ReadRequest, SetForwardingPipelineConfigRequest};
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const DEVICE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent/benches/served/l2.p4");

/// The program that runs, with statements that do nothing.
fn program(ifs: usize) -> Vec<u8> {
    let text = std::fs::read_to_string(DEVICE).unwrap();
    let line = |n: usize| {
        format!("        if (hdr.ethernet.src == 48w{n}) {{ hdr.ethernet.ether_type = 16w{}; }}\n", n % 65536)
    };
    let many: String = (0..ifs).map(line).collect();
    text.replacen("        sources.apply();\n", &format!("        sources.apply();\n{many}"), 1).into_bytes()
}

/// The program with tables of a million entries.
fn larger() -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attacked_larger.p4");
    let text = std::fs::read_to_string(DEVICE).unwrap().replace("size = 131072", "size = 1048576");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The program on two devices of one process.
fn rack() -> String {
    rack_by("attacked", "Destinations = \"nic\"")
}

/// The same rack with another map.
fn rack_by(name: &str, map: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
    let text = format!(
        "[rack]\nname = \"attacked\"\n\n[device.tor]\nclass = \"switch\"\n\n[device.nic]\nclass = \"smartnic\"\n\n\
         [[link]]\nends = [\"tor:500\", \"nic:500\"]\nrate = \"10Gbit/s\"\n\n\
         [[app]]\nprogram = {DEVICE:?}\norigin = \"tor\"\nmap = {{ {map} }}\n"
    );
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Sends frames, one after the other, while a controller's work is done. Each of them comes back: how many were waited for less
/// than a second is reported, and the longest wait. Returns the pieces of work that everybody waited for.
fn frames_pass_while(
    what: &str,
    program: &str,
    work: impl AsyncFnOnce(&mut Client, (u32, u32), &str) + Send + 'static,
) -> Holds {
    // Without a pause frames and work would each have half of the processor time.
    let pause = Duration::from_millis(if at_length() { 0 } else { 1 });
    let outside = UdpSocket::bind("127.0.0.1:0").unwrap();
    outside.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let inside = linux_net::free_addresses(1).unwrap()[0];
    let port = format!("1@udp:{inside},{}", outside.local_addr().unwrap());
    let victim = Victim::of(GIGABYTE, &[&[program, "-i", &port], &LARGE[..]].concat());
    outside.connect(inside).unwrap();
    let reach = victim.reach();
    let is_done = AtomicBool::new(false);
    let (passed, worst, (took, holds)) = std::thread::scope(|scope| {
        let (entered, enter) = std::sync::mpsc::channel();
        let is_done = &is_done;
        let worked = scope.spawn(move || {
            runtime().block_on(async {
                let mut client = reach.connect().await;
                let _stream = stream(&mut client, 1).await;
                let ids = ids(&mut client).await;
                // Frames for 00:00:00:00:00:01 leave by port 1, on which they came.
                client.write(entries(ids, 1, "INSERT", 0..1)).await.unwrap();
                entered.send(()).unwrap();
                let asked = Instant::now();
                work(&mut client, ids, reach.address()).await;
                let holds = Holds::of(&reach);
                is_done.store(true, Ordering::SeqCst);
                (asked.elapsed(), holds)
            })
        });
        enter.recv().unwrap();
        let frame = [vec![0, 0, 0, 0, 0, 1], vec![2, 0, 0, 0, 0, 1], vec![8, 0], vec![0; 46]].concat();
        let (mut passed, mut worst) = (0, Duration::ZERO);
        let mut buffer = [0; 2048];
        while !is_done.load(Ordering::SeqCst) && !worked.is_finished() {
            let sent = Instant::now();
            outside.send(&frame).unwrap();
            outside.recv(&mut buffer).unwrap();
            worst = worst.max(sent.elapsed());
            std::thread::sleep(pause);
            passed += usize::from(!is_done.load(Ordering::SeqCst));
        }
        (passed, worst, worked.join().unwrap())
    });
    eprintln!("{what}: {took:?}, meanwhile {passed} frames, the longest wait {worst:?}");
    eprintln!("{what}:\n{holds}");
    assert!(passed > 10, "{passed} frames passed");
    holds
}

/// Pushes the program with `ifs` statements.
fn push(ifs: usize) -> impl AsyncFnOnce(&mut Client, (u32, u32), &str) + Send + 'static {
    async move |client: &mut Client, _: (u32, u32), _: &str| {
        let request = "device_id: 1 election_id { low: 1 } action: RECONCILE_AND_COMMIT";
        let mut request: SetForwardingPipelineConfigRequest = from_text(request).unwrap();
        // The statements change nothing of the P4Info.
        let config = running(client).await;
        request.config = Some(ForwardingPipelineConfig { p4_device_config: program(ifs).into(), ..config });
        client.set_forwarding_pipeline_config(request).await.unwrap();
    }
}

/// A program of 20,000 `if`s kept every frame waiting for ten seconds: it was compiled by the thread that runs frames. No test had
/// sent frames while a program came in.
#[test]
fn frames_pass_while_a_program_is_compiled() {
    let _alone = alone();
    let ifs = if at_length() { 20_000 } else { 400 };
    frames_pass_while(&format!("a program of {ifs} ifs"), DEVICE, push(ifs));
}

/// A rack in one process splits and compiles programs on a thread of its own, as single devices do.
#[test]
fn frames_pass_while_a_program_is_split() {
    let _alone = alone();
    let ifs = if at_length() { 20_000 } else { 400 };
    frames_pass_while(&format!("a program of {ifs} ifs, on a rack"), &rack(), push(ifs));
}

/// All entries of all tables, in a fixed order.
async fn all_entries(client: &mut Client) -> Vec<Vec<u8>> {
    let all: ReadRequest = from_text("device_id: 1 entities { table_entry {} }").unwrap();
    let mut answer = client.read(all).await.unwrap().into_inner();
    let mut found = vec![];
    while let Some(response) = answer.message().await.unwrap() {
        found.extend(response.entities.iter().map(p4runtime_proto::to_binary));
    }
    found.sort_unstable();
    found
}

/// A write of 100,000 updates is done in slices; racks did it at once. Rollback is exact.
#[test]
fn frames_pass_while_much_is_written() {
    let _alone = alone();
    let most = if at_length() { 100_000 } else { 4_000 };
    for (what, program) in [("a device", DEVICE.to_string()), ("a rack", rack())] {
        let write = async move |client: &mut Client, ids: (u32, u32), _: &str| {
            client.write(entries(ids, 1, "INSERT", 1..most + 1)).await.unwrap();
            let before = all_entries(client).await;
            assert!(before.len() > most as usize, "{}", before.len());
            // All of them are rolled back for the last one, which is not there.
            let mut removed = entries(ids, 1, "DELETE", (1..most).chain(std::iter::once(0xff_ffff)));
            removed.set_atomicity(Atomicity::RollbackOnError);
            let refused = client.write(removed).await.unwrap_err();
            let why = format!("1 of {most} updates failed, and {} were rolled back", most - 1);
            assert!(refused.message().starts_with(&why), "{refused}");
            assert!(all_entries(client).await == before, "other entries than before");
        };
        let holds = frames_pass_while(&format!("{most} updates, twice, to {what}"), &program, write);
        holds.were_sliced(2 * most, 0, 0);
    }
}

/// A table was read at once, with all of its entries.
#[test]
fn frames_pass_while_a_table_is_read() {
    let _alone = alone();
    // More does not fit into the memory that the switch has here: in a rack, two devices have copies.
    let (large, full) = if at_length() { (200_000, 100_000) } else { (4_000, 4_000) };
    for (what, program, most) in [("a device", larger(), large), ("a rack", rack(), full)] {
        let read = async move |client: &mut Client, ids: (u32, u32), _: &str| {
            for first in (1..=most).step_by(100_000) {
                let some = first..(first + 100_000).min(most + 1);
                client.write(entries(ids, 1, "INSERT", some)).await.unwrap();
            }
            for _ in 0..3 {
                let all = from_text("device_id: 1 entities { table_entry {} }").unwrap();
                let found = count(client, all).await.unwrap();
                assert!(found > most as usize, "{found}");
            }
        };
        let holds = frames_pass_while(&format!("three reads of {most} entries of {what}"), &program, read);
        holds.were_sliced(most, 3 * most, 0);
    }
}

/// Operators' requests once compiled in the thread that runs frames, after controllers' requests no longer did.
#[test]
fn frames_pass_while_an_operator_replaces_the_plan() {
    let _alone = alone();
    // `p4rack ctl` waits for 30 s.
    let ifs = if at_length() { 4_000 } else { 400 };
    let (first, home) = (rack(), rack_by("attacked_home", ""));
    let replace = async move |client: &mut Client, ids: (u32, u32), address: &str| {
        push(ifs)(client, ids, address).await;
        for asked in [&["reset"][..], &["replace", home.as_str()], &["replace", first.as_str()]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
            let answer = command.args(["ctl", "--addr", address]).args(asked).output().unwrap();
            assert!(answer.status.success(), "{asked:?}: {answer:?}");
        }
    };
    frames_pass_while(&format!("a program of {ifs} ifs, reset and replaced twice"), &rack(), replace);
}

/// A reset, and a push that keeps the entries, wrote all of them to the new program at once.
#[test]
fn frames_pass_while_entries_are_written_to_a_new_program() {
    let _alone = alone();
    let (large, full) = if at_length() { (100_000, 50_000) } else { (4_000, 4_000) };
    for (what, program, most) in [("a device", larger(), large), ("a rack", rack(), full)] {
        let again = async move |client: &mut Client, ids: (u32, u32), address: &str| {
            for first in (1..=most).step_by(100_000) {
                let some = first..(first + 100_000).min(most + 1);
                client.write(entries(ids, 1, "INSERT", some)).await.unwrap();
            }
            let config = running(client).await;
            let request = "device_id: 1 election_id { low: 1 } action: RECONCILE_AND_COMMIT";
            let mut request: SetForwardingPipelineConfigRequest = from_text(request).unwrap();
            request.config = Some(config);
            client.set_forwarding_pipeline_config(request).await.unwrap();
            let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
            let answer = command.args(["ctl", "--addr", address, "reset"]).output().unwrap();
            assert!(answer.status.success(), "{answer:?}");
            let all = from_text("device_id: 1 entities { table_entry {} }").unwrap();
            let found = count(client, all).await.unwrap();
            assert!(found > most as usize, "{found}");
        };
        let what = format!("a push and a reset with {most} entries of {what}");
        frames_pass_while(&what, &program, again).were_sliced(most, most, 2 * most);
    }
}

/// A switch whose table has so many entries, a reading client, and an honest controller that writes to the same table.
async fn filled(program: &str, most: u32) -> (Victim, Client, Honest) {
    let victim = Victim::of(GIGABYTE, &[&[program], &LARGE[..]].concat());
    let mut client = victim.connect().await;
    let first = stream(&mut client, 1).await;
    let ids = ids(&mut client).await;
    for first in (0..most).step_by(5_000) {
        let some = first..(first + 5_000).min(most);
        client.write(entries(ids, 1, "INSERT", some)).await.unwrap();
    }
    drop(first);
    let honest = Honest::start(&victim, 2);
    (victim, client, honest)
}

/// A reset of a million entries kept everybody else waiting for 26 s.
#[test]
fn requests_are_served_while_entries_are_written_to_a_new_program() {
    let _alone = alone();
    let most = if at_length() { 200_000 } else { 4_000 };
    runtime().block_on(async {
        let (victim, mut client, honest) = filled(&larger(), most).await;
        let all = || from_text("device_id: 1 entities { table_entry {} }").unwrap();
        for _ in 0..3 {
            let asked = Instant::now();
            let answer = victim.ctl(&["reset"]);
            assert!(answer.status.success(), "{answer:?}");
            eprintln!("a reset of {most} entries: {:?}", asked.elapsed());
            let found = count(&mut client, all()).await.unwrap();
            assert!(
                (most as usize..=most as usize + 1).contains(&found),
                "the honest controller's, too: {found}"
            );
        }
        honest.end(&format!("resets of {most} entries")).were_sliced(most, 3 * most, 3 * most);
    });
}

/// Writes to a rack waited for reads of the same table.
#[test]
fn requests_are_served_while_a_rack_is_read() {
    let _alone = alone();
    let (most, times) = if at_length() { (100_000, 20) } else { (10_000, 5) };
    runtime().block_on(async {
        let (_victim, mut client, honest) = filled(&rack(), most).await;
        for _ in 0..times {
            let all = from_text("device_id: 1 entities { table_entry {} }").unwrap();
            let found = count(&mut client, all).await.unwrap();
            assert!((most as usize..=most as usize + 1).contains(&found), "{found}");
        }
        honest.end(&format!("{times} reads of {most} entries of a rack")).were_sliced(most, times * most, 0);
    });
}
