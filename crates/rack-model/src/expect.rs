//! `expect` of a workload: the required results of a run.
//!
//! ```toml
//! expect = "lost"                                    # nothing arrives: a firewall that blocks
//! expect = "received"                                # everything arrives
//! expect = { received = ">= 95%", p99 = "<= 50us" }  # bounds
//! expect = { received = [">= 10", "<= 20%"] }        # several of one measure
//! ```
//!
//! | measures | bounds |
//! |---|---|
//! | `received`, `lost`, `doubled` (arrived again), `late` (arrived after a packet that was sent later), `corrupt` (arrived changed) | a number of packets, or a share of those sent: `"<= 3"`, `">= 95%"`, `0` |
//! | `goodput` | a rate: `">= 900Mbit/s"` |
//! | `min`, `mean`, `deviation`, `p50`, `p90`, `p95`, `p99`, `p99.9`, `max` | a latency: `"<= 50us"` |

use crate::section::{Item, Reader, Section};
use crate::{Probability, Spanned};
use base_time::{Duration, Rate};
use std::fmt;
use toml::de::DeValue;

/// Bounds that the report of a workload has to satisfy.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Expect {
    /// All have to hold.
    pub bounds: Vec<Spanned<Bound>>,
}

/// A bound of one measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// Measure that is bounded.
    pub measure: Measure,
    /// On which side.
    pub relation: Relation,
    /// The bound.
    pub amount: Amount,
}

/// On which side of a bound a measure has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `=`
    Exactly,
}

/// A bound of packets, of a rate or of a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// Packets, requests, transfers.
    Count(u64),
    /// A share of those sent.
    Share(Probability),
    /// Payload.
    Rate(Rate),
    /// A latency.
    Time(Duration),
}

/// Measures that can be bounded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Measure {
    /// Different packets that arrived.
    Received,
    /// Sent and not received.
    Lost,
    /// Arrived again.
    Doubled,
    /// Arrived after one sent later.
    Late,
    /// Arrived changed.
    Corrupt,
    /// Payload received.
    Goodput,
    /// The least latency.
    Min,
    /// The mean latency.
    Mean,
    /// The standard deviation of latencies.
    Deviation,
    /// The median latency.
    P50,
    /// 90 of 100 are not above it.
    P90,
    /// 95 of 100 are not above it.
    P95,
    /// 99 of 100 are not above it.
    P99,
    /// 999 of 1000 are not above it.
    P999,
    /// The greatest latency.
    Max,
}

const MEASURES: [(&str, Measure); 15] = [
    ("received", Measure::Received),
    ("lost", Measure::Lost),
    ("doubled", Measure::Doubled),
    ("late", Measure::Late),
    ("corrupt", Measure::Corrupt),
    ("goodput", Measure::Goodput),
    ("min", Measure::Min),
    ("mean", Measure::Mean),
    ("deviation", Measure::Deviation),
    ("p50", Measure::P50),
    ("p90", Measure::P90),
    ("p95", Measure::P95),
    ("p99", Measure::P99),
    ("p99.9", Measure::P999),
    ("max", Measure::Max),
];

impl Measure {
    /// As it is written in the file.
    pub fn word(self) -> &'static str {
        MEASURES.iter().find(|(_, measure)| *measure == self).map_or("", |(word, _)| word)
    }

    fn is_count(self) -> bool {
        self <= Measure::Corrupt
    }

    /// An example of its bounds.
    fn example(self) -> &'static str {
        match self {
            _ if self.is_count() => "\">= 95%\"",
            Measure::Goodput => "\">= 900Mbit/s\"",
            _ => "\"<= 50us\"",
        }
    }
}

impl Expect {
    /// True if a run in which nothing arrives may be as expected.
    pub fn allows_silence(&self) -> bool {
        let allows = |bound: &Bound| match (bound.measure, bound.relation, bound.amount) {
            (Measure::Received, Relation::AtMost, _) => true,
            (Measure::Received, Relation::Exactly, Amount::Count(0)) => true,
            (Measure::Received, Relation::Exactly, Amount::Share(share)) => share == Probability::ZERO,
            (Measure::Lost, Relation::AtLeast | Relation::Exactly, Amount::Share(share)) => {
                share == Probability::ONE
            }
            _ => false,
        };
        self.bounds.iter().any(|bound| allows(&bound.value))
    }
}

/// `received <= 5%`
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = match self.relation {
            Relation::AtMost => "<=",
            Relation::AtLeast => ">=",
            Relation::Exactly => "=",
        };
        write!(f, "{} {relation} ", self.measure.word())?;
        match self.amount {
            Amount::Count(count) => write!(f, "{count}"),
            Amount::Share(share) => write!(f, "{share}"),
            Amount::Rate(rate) => write!(f, "{rate}"),
            Amount::Time(time) => write!(f, "{time}"),
        }
    }
}

pub(crate) fn read(r: &mut Reader, item: Item<'_>) -> Option<Expect> {
    // "lost": 0 are received; "received": 0 are lost.
    let exactly = |measure| {
        let bound = Bound { measure, relation: Relation::Exactly, amount: Amount::Count(0) };
        Some(Expect { bounds: vec![Spanned::new(bound, item.span)] })
    };
    match item.value {
        DeValue::String(text) if text.as_ref() == "lost" => exactly(Measure::Received),
        DeValue::String(text) if text.as_ref() == "received" => exactly(Measure::Lost),
        DeValue::Table(_) => {
            let mut s = Section::new(r, "`expect`".to_string(), item.span, item)?;
            let mut bounds = vec![];
            for (word, measure) in MEASURES {
                if let Some(entry) = s.entry(word) {
                    bounds.extend(read_bounds(r, entry.item, measure));
                }
            }
            s.finish(r);
            Some(Expect { bounds })
        }
        _ => {
            let what = "`\"lost\"`, `\"received\"` or a table of bounds";
            r.bad_value(
                item.span,
                "not an expectation",
                format!("write {what}: `{{ received = \">= 95%\" }}`"),
            );
            None
        }
    }
}

/// One bound or a list of them; wrong ones are reported and left out.
fn read_bounds(r: &mut Reader, item: Item<'_>, measure: Measure) -> Vec<Spanned<Bound>> {
    let items = match item.value {
        DeValue::Array(array) => {
            let item = |element: &toml::Spanned<DeValue<'_>>| r.span(element.span());
            array.iter().map(|element| (element.get_ref(), item(element))).collect()
        }
        value => vec![(value, item.span)],
    };
    let mut bounds = vec![];
    for (value, span) in items {
        match read_bound(value, measure) {
            Some(bound) => bounds.push(Spanned::new(bound, span)),
            None => {
                let why = format!("write a bound like {}", measure.example());
                r.bad_value(span, format!("not a bound of `{}`", measure.word()), why);
            }
        }
    }
    bounds
}

fn read_bound(value: &DeValue<'_>, measure: Measure) -> Option<Bound> {
    let text = match value {
        DeValue::String(text) => text.trim().to_string(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_string(),
        _ => return None,
    };
    let relations = [
        ("<=", Relation::AtMost),
        (">=", Relation::AtLeast),
        ("=", Relation::Exactly),
        ("", Relation::Exactly),
    ];
    let (sign, relation) = *relations.iter().find(|(sign, _)| text.starts_with(sign))?;
    let text = text[sign.len()..].trim();
    let amount = match measure {
        _ if measure.is_count() && text.ends_with('%') => Amount::Share(Probability::parse(text).ok()?),
        _ if measure.is_count() => Amount::Count(text.parse().ok()?),
        Measure::Goodput => Amount::Rate(text.parse().ok()?),
        _ => Amount::Time(text.parse().ok()?),
    };
    Some(Bound { measure, relation, amount })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(text: &str) -> Expect {
        let host = |n: u32| format!("[host.h{n}]\nmac = \"02:00:00:00:00:0{n}\"\nip = \"10.0.0.{n}/24\"\n");
        let workload = "[[workload]]\nkind = \"ping\"\nfrom = \"h1\"\nto = \"h2\"\ncount = 1\n";
        let link = "[[link]]\nends = [\"h1\", \"h2\"]\nrate = \"1Gbit/s\"\n";
        let text = format!("{}{}{link}{workload}expect = {text}\n", host(1), host(2));
        let (rack, found) = crate::read_rack(&text, 0);
        rack.unwrap_or_else(|| panic!("{found:?}")).workloads[0].expect.clone().unwrap()
    }

    #[test]
    fn bounds_are_written_as_they_are_read() {
        for (text, shown, allows_silence) in [
            ("\"lost\"", "received = 0", true),
            ("\"received\"", "lost = 0", false),
            ("{ received = [\">= 10\", \"<= 20%\"] }", "received >= 10, received <= 20%", true),
            ("{ lost = \">= 100%\" }", "lost >= 100%", true),
            ("{ corrupt = 3, late = \"=0\" }", "late = 0, corrupt = 3", false),
            ("{ \"p99.9\" = \"<= 1.5us\", p50 = \">=3ns\" }", "p50 >= 3ns, p99.9 <= 1.5us", false),
            ("{ goodput = \">= 900Mbit/s\" }", "goodput >= 900Mbit/s", false),
        ] {
            let expect = expected(text);
            let bounds: Vec<String> = expect.bounds.iter().map(|bound| bound.value.to_string()).collect();
            assert_eq!(
                (bounds.join(", ").as_str(), expect.allows_silence()),
                (shown, allows_silence),
                "{text}"
            );
        }
    }
}
