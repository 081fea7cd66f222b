//! Error statuses in trailers that every client can read. By default, gRPC clients accept 8 KiB of trailers and report a broken stream if
//! there are more (P4Runtime 1.5, "gRPC Metadata Maximum Size").
//!
//! P4Runtime sends one error detail per update. If the details do not fit, the messages of updates that were only not tried or
//! rolled back are dropped; then all messages but that of the first failure are truncated; then the last details are dropped, and the
//! status message says how many, and names the first of them that failed by themselves, with their positions. A client that gets fewer
//! details than it sent updates knows the outcome of the first ones.

use p4runtime_proto::google::rpc::{self, Code};
use p4runtime_proto::p4::v1::Error;
use p4runtime_server::Status;
use prost::{Message, Name};
use tonic::metadata::{AsciiMetadataValue, BinaryMetadataValue, MetadataMap};

/// Limit for the details, in bytes before base64, which adds a third.
const DETAILS: usize = 4600;

/// Limit for the status message, in bytes after escaping.
const MESSAGE: usize = 1000;

/// Limit for the part of the status message that says what was left out, in bytes after escaping.
const NOTE: usize = 600;

/// Limit for the message of one update if not all of them fit, in bytes.
const SHORT: usize = 80;

/// How the note about details that are left out begins.
const LEFT_OUT: &str = " (details of the last ";

/// Trailers with the index and the error of the first update that failed for a reason of its own. The controller of a rack needs them
/// even if details are dropped.
const FAILED_AT: &str = "p4rack-failed-at";
const FAILED: &str = "p4rack-failed-bin";

/// A status as gRPC says it, with its details packed into a `google.rpc.Status`.
pub(crate) fn status(status: &Status) -> tonic::Status {
    let code = tonic::Code::from_i32(status.code as i32);
    if status.details.is_empty() {
        return tonic::Status::new(code, fitting(&status.message, MESSAGE));
    }
    let details = fewer(&status.details);
    let left_out = status.details.len() - details.len();
    let mut message = fitting(&status.message, MESSAGE);
    if left_out > 0 {
        let note = note(status, details.len());
        message = fitting(&status.message, MESSAGE - escaped(&note)) + &note;
    }
    let any = |error: &Error| prost_types::Any {
        type_url: format!("type.googleapis.com/{}", Error::full_name()),
        value: error.encode_to_vec(),
    };
    let details = rpc::Status {
        code: status.code as i32,
        message: String::new(),
        details: details.iter().map(any).collect(),
    };
    let details = rpc::Status { message: fitting(&message, MESSAGE / 4), ..details };
    let mut metadata = MetadataMap::new();
    if let Some((at, error)) = status.cause() {
        metadata.insert(FAILED_AT, AsciiMetadataValue::from(at as u64));
        let error = Error { message: fitting(&error.message, MESSAGE / 4), ..error.clone() };
        metadata.insert_bin(FAILED, BinaryMetadataValue::from_bytes(&error.encode_to_vec()));
    }
    tonic::Status::with_details_and_metadata(code, message, details.encode_to_vec().into(), metadata)
}

/// States how many details are left out if `sent` of them are sent, and names the first updates that failed by themselves.
fn note(status: &Status, sent: usize) -> String {
    let left_out = status.details.len() - sent;
    let failed = || status.causes().filter(|(at, _)| *at >= sent);
    let mut note =
        format!("{LEFT_OUT}{left_out} are left out; {} of them failed by themselves", failed().count());
    for (number, (at, error)) in failed().enumerate() {
        let one = format!("{} [{at}]: {}", if number == 0 { ":" } else { ";" }, cut(&error.message, SHORT));
        if escaped(&note) + escaped(&one) > NOTE {
            note += "; ...";
            break;
        }
        note += &one;
    }
    note + ")"
}

/// The error details in a status. If they were cut off before the first update that failed for a reason of its own, they are filled up to
/// it.
pub(crate) fn details(status: &tonic::Status) -> Vec<Error> {
    let details = rpc::Status::decode(status.details()).map(|status| status.details).unwrap_or_default();
    let mut details: Vec<Error> = details.iter().filter_map(|any| Error::decode(&*any.value).ok()).collect();
    let metadata = status.metadata();
    let at = metadata.get(FAILED_AT).and_then(|at| at.to_str().ok()?.parse::<usize>().ok());
    let failed = metadata.get_bin(FAILED).and_then(|bytes| Error::decode(bytes.to_bytes().ok()?).ok());
    if let (Some(at), Some(failed)) = (at, failed)
        && (details.len()..MOST_FILLED).contains(&at)
    {
        let left_out = Error { canonical_code: Code::Aborted as i32, ..Error::default() };
        details.resize(at, left_out);
        details.push(failed);
    }
    details
}

/// The message of a status, without the note about details that are left out.
pub(crate) fn message(status: &tonic::Status) -> String {
    let message = status.message();
    message.rsplit_once(LEFT_OUT).map_or(message, |(message, _)| message).to_string()
}

/// More updates than any request has.
const MOST_FILLED: usize = 1 << 24;

fn is_cause(code: i32) -> bool {
    code != Code::Ok as i32 && code != Code::Aborted as i32
}

/// The details, shortened until they fit.
fn fewer(all: &[Error]) -> Vec<Error> {
    // One more than fit without messages: a request may have very many.
    let all = &all[..all.len().min(DETAILS / one(&Error::default()) + 1)];
    if size(all) <= DETAILS {
        return all.to_vec();
    }
    let mut short = all.to_vec();
    for error in short.iter_mut().filter(|error| error.canonical_code == Code::Aborted as i32) {
        error.message.clear();
    }
    if size(&short) <= DETAILS {
        return short;
    }
    let first = short.iter().position(|error| is_cause(error.canonical_code));
    for (at, error) in short.iter_mut().enumerate() {
        let most = if Some(at) == first { MESSAGE / 4 } else { SHORT };
        error.message = cut(&error.message, most);
    }
    let mut sum = 0;
    let fitting = short.iter().take_while(|error| {
        sum += one(error);
        sum <= DETAILS
    });
    let count = fitting.count();
    short.truncate(count);
    short
}

/// Size of the details in a `google.rpc.Status`, in bytes.
fn size(all: &[Error]) -> usize {
    all.iter().map(one).sum()
}

fn one(error: &Error) -> usize {
    // The type URL, and tags and lengths of both fields.
    "type.googleapis.com/".len() + Error::full_name().len() + error.encoded_len() + 12
}

/// Size of a character when it is percent-encoded.
fn escaped_one(character: char) -> usize {
    let is_plain = character.is_ascii_alphanumeric() || "-_.:,/()[]'=+*".contains(character);
    if is_plain { 1 } else { 3 * character.len_utf8() }
}

fn escaped(text: &str) -> usize {
    text.chars().map(escaped_one).sum()
}

/// The beginning of a text that has at most `most` bytes when it is percent-encoded.
fn fitting(text: &str, most: usize) -> String {
    let mut left = most;
    let end = text.char_indices().find(|(_, character)| match left.checked_sub(escaped_one(*character)) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    });
    match end {
        None => text.to_string(),
        Some((end, _)) => format!("{} ... ({} bytes more)", &text[..end], text.len() - end),
    }
}

/// The beginning of a text, at most `most` bytes long.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_string();
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}...", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asks::MOST;

    /// Size as HTTP/2 counts header lists: names, values, and 32 bytes for each.
    fn trailers(status: &tonic::Status) -> usize {
        let headers = status.clone().into_http::<()>().headers().clone();
        headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum()
    }

    /// `failed` is sorted.
    fn batch(updates: usize, failed: &[usize], message: &str) -> Status {
        let error = |at| match failed.binary_search(&at).is_ok() {
            true => Error { canonical_code: 3, message: message.to_string(), ..Error::default() },
            false => Error { canonical_code: 10, message: "rolled back".to_string(), ..Error::default() },
        };
        let details = (0..updates).map(error).collect();
        Status {
            code: Code::Unknown,
            message: format!("{} of {updates} failed: {message}", failed.len()),
            details,
        }
    }

    #[test]
    fn trailers_stay_within_8_kib() {
        let long = "a message of \u{1f600} \"some\" length, ".repeat(200);
        for updates in [1, 10, 75, 100, 150, 151, 220, 1000, 100_000] {
            for message in ["", "short", &long] {
                for failed in [vec![0], vec![updates - 1], (0..updates.min(3000)).collect()] {
                    let status = status(&batch(updates, &failed, message));
                    assert!(trailers(&status) <= 8192, "{updates}: {}", trailers(&status));
                    let answer = details(&status);
                    // The first that failed is where it is, and with its code.
                    assert_eq!(answer.get(failed[0]).map(|error| error.canonical_code), Some(3), "{updates}");
                    assert!(answer[..failed[0]].iter().all(|error| error.canonical_code == 10));
                }
            }
        }
        assert!(trailers(&status(&Status::new(Code::InvalidArgument, long))) <= 8192);
    }

    #[test]
    fn all_of_a_small_batch_is_reported() {
        let small = batch(20, &[3, 7], "there is no such table");
        let answer = status(&small);
        assert_eq!(details(&answer), small.details);
        assert_eq!(answer.message(), small.message);
    }

    /// The outcome of each short write of a message to an agent has to be known.
    #[test]
    fn short_writes_that_go_together_are_all_reported() {
        let long = "the table is full, and nothing of it can be removed; ".repeat(90);
        let all: Vec<usize> = (0..MOST).collect();
        let answer = details(&status(&batch(MOST, &all, &long)));
        assert!(answer.len() == MOST && answer.iter().all(|error| error.canonical_code == 3), "{answer:?}");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let answer = status(&batch(1000, &[5, 900], "x"));
        let expected = "2 of 1000 failed: x (details of the last 894 are left out; 1 of them failed by themselves: [900]: x)";
        let known = rpc::Status::decode(answer.details()).unwrap().details.len();
        assert_eq!(answer.message(), expected.replace("894", &(1000 - known).to_string()));
        assert!(known > 70, "{known}");
        assert_eq!(message(&answer), "2 of 1000 failed: x");
    }

    /// The message of a large refused batch did not name the cause.
    #[test]
    fn the_first_that_fail_are_named_with_their_positions() {
        let failed: Vec<usize> = (700..100_000).step_by(7).collect();
        let answer = status(&batch(100_000, &failed, "the key is too long, and the action does not exist"));
        let named = |at: usize| answer.message().contains(&format!(" [{at}]: the key is too long, and the"));
        assert!(named(700) && named(707) && named(714), "{}", answer.message());
        assert!(answer.message().ends_with("; ...)") && trailers(&answer) <= 8192, "{}", answer.message());
    }
}
