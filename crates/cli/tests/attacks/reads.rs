//! Reads of everything, again and again, by anybody.

use crate::honest::Honest;
use crate::setup::{Client, GIGABYTE, Victim, alone, at_length, count, entries, ids, runtime, stream};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::{Entity, ReadRequest};
use tonic::Code;

fn asks(queries: impl Iterator<Item = String>) -> ReadRequest {
    let entities = queries.map(|query| from_text::<Entity>(&query).unwrap()).collect();
    ReadRequest { device_id: 1, entities, ..ReadRequest::default() }
}

/// A reading client, the number of the table's entries, an honest controller, and the memory used so far.
async fn filled(victim: &Victim, most: u32) -> (Client, u32, Honest, u64) {
    let mut client = victim.connect().await;
    let first = stream(&mut client, 1).await;
    let ids = ids(&mut client).await;
    client.write(entries(ids, 1, "INSERT", 0..most)).await.unwrap();
    drop(first);
    let honest = Honest::start(victim, 2);
    (client, ids.0, honest, victim.memory())
}

/// 20,000 entries and one read that named all tables 5,000 times ended the process, which gathered every answer before it sent the
/// first; no test had asked for the same thing twice.
#[test]
fn who_asks_for_everything_many_times_is_answered_once() {
    let _alone = alone();
    let (most, times) = if at_length() { (20_000, 5_000) } else { (2_000, 2_000) };
    let mut victim = Victim::start(GIGABYTE, &[]);
    runtime().block_on(async {
        let (mut client, table, honest, before) = filled(&victim, most).await;
        let again = |query: &str| asks((0..times).map(|_| query.to_string()));
        let found = count(&mut client, again("table_entry {}")).await.unwrap();
        assert!((most as usize..=most as usize + 1).contains(&found), "{found}");
        // The same query in other words.
        let others = (0..times).map(|n| format!("table_entry {{ idle_timeout_ns: {n} priority: {n} }}"));
        assert!(count(&mut client, asks(others)).await.unwrap() <= most as usize + 1);
        let others = (1..=times).map(|n| format!("table_entry {{ table_id: {table} priority: {n} }}"));
        let refused = count(&mut client, asks(others)).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
        assert!(refused.message().contains("the different queries search more than"), "{refused}");
        honest.end("reads of everything");
        victim.is_as_before(before, "reads of everything");
    });
}

/// Unread answers take little memory, and only for a limited time.
#[test]
fn who_asks_and_does_not_read_takes_little() {
    let _alone = alone();
    let (most, readers) = if at_length() { (20_000, 300) } else { (3_000, 100) };
    let mut victim = Victim::start(GIGABYTE, &[]);
    runtime().block_on(async {
        let (_client, _, honest, before) = filled(&victim, most).await;
        let mut unread = vec![];
        for _ in 0..readers / 20 {
            let mut slow = victim.connect().await;
            for _ in 0..20 {
                unread.push(slow.read(asks(std::iter::once("table_entry {}".to_string()))).await.unwrap());
            }
        }
        let meanwhile = victim.memory().saturating_sub(before);
        // Some fifty bytes for each entry, in the encoded form.
        let most = u64::from(most) * readers * 200 + (32 << 20);
        assert!(meanwhile < most, "{meanwhile} bytes for {readers} answers");
        drop(unread);
        // The connections notice while this waits.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        honest.end("answers that nobody reads");
        victim.is_as_before(before, "answers that nobody reads");
    });
}
