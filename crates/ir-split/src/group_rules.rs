//! Rules of a group of servers: times, what a flow is worth, and when the group grows and shrinks by itself. Also as a word, for annotations.

use std::fmt::Write as _;

/// How flows of a group keep their server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// A server asks the previous one.
    Exact,
    /// Servers keep nothing of a flow: buckets move at once.
    Pin,
    /// Two Bloom filters at the switch, which are not exact.
    Bloom,
}

const VARIANTS: [Variant; 3] = [Variant::Exact, Variant::Pin, Variant::Bloom];

/// See the module. Times are in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupRules {
    /// A flow without packets for so long has ended.
    pub idle_us: u64,
    /// A question between servers is asked again after so long.
    pub patience_us: u64,
    /// A server that has lost a bucket is asked for its flows after so long.
    pub settle_us: u64,
    /// A server that has been away for so long is dead.
    pub hold_us: u64,
    /// An order without a report is given again after so long.
    pub answer_us: u64,
    /// How flows keep their server.
    pub variant: Variant,
    /// Servers drop calls that have waited for longer.
    pub max_age_us: Option<u64>,
    /// The group grows and shrinks by itself.
    pub scale: Option<ScaleRules>,
}

/// When a group grows and shrinks by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScaleRules {
    /// Calls a second that are a load of 1000.
    pub capacity: u64,
    /// The group grows if the mean load was above this for `up_for_us`.
    pub up: u32,
    /// See `up`.
    pub up_for_us: u64,
    /// The group shrinks if the mean load was below this for `down_for_us`, and the others can take the load of the member that leaves.
    pub down: u32,
    /// See `down`.
    pub down_for_us: u64,
    /// Nothing changes for so long after a change.
    pub cooldown_us: u64,
    /// Members at least.
    pub min: u32,
    /// Members at most.
    pub max: u32,
    /// New flows go to members by the inverse of their load.
    pub weighs: bool,
}

/// A year.
const MOST_US: u64 = 366 * 24 * 3600 * 1_000_000;

impl GroupRules {
    /// The rules as a word: numbers with commas.
    pub fn to_text(&self) -> String {
        let GroupRules { idle_us, patience_us, settle_us, hold_us, answer_us, variant, max_age_us, scale } =
            *self;
        let (variant, max_age_us) = (variant as u8, max_age_us.unwrap_or(0));
        let mut text =
            format!("{idle_us},{patience_us},{settle_us},{hold_us},{answer_us},{variant},{max_age_us}");
        if let Some(scale) = scale {
            let ScaleRules { capacity, up, up_for_us, down, down_for_us, cooldown_us, min, max, weighs } =
                scale;
            let weighs = u8::from(weighs);
            // Writing to a string never fails.
            let _ = write!(
                text,
                ",{capacity},{up},{up_for_us},{down},{down_for_us},{cooldown_us},{min},{max},{weighs}"
            );
        }
        text
    }

    /// Reads [`GroupRules::to_text`]; none if the word is something else, or if a time is 0 or more than a year.
    pub fn of_text(text: &str) -> Option<GroupRules> {
        let numbers: Vec<u64> = text.split(',').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let (&[idle_us, patience_us, settle_us, hold_us, answer_us, variant, max_age_us], rest) =
            numbers.split_first_chunk::<7>()?;
        let scale = match *rest {
            [] => None,
            [capacity, up, up_for_us, down, down_for_us, cooldown_us, min, max, weighs] => {
                let small = |value: u64| u32::try_from(value).ok();
                let times = [up_for_us, down_for_us, cooldown_us];
                let is_sound = capacity > 0 && times.iter().all(|us| (1..=MOST_US).contains(us)) && min >= 1;
                Some(ScaleRules {
                    capacity: is_sound.then_some(capacity)?,
                    up: small(up)?,
                    up_for_us,
                    down: small(down)?,
                    down_for_us,
                    cooldown_us,
                    min: small(min)?,
                    max: small(max).filter(|max| u64::from(*max) >= min)?,
                    weighs: weighs == 1,
                })
            }
            _ => return None,
        };
        let times = [idle_us, patience_us, settle_us, hold_us, answer_us];
        let is_sound = times.iter().all(|us| (1..=MOST_US).contains(us));
        let is_sound = is_sound && max_age_us <= MOST_US;
        let variant = *VARIANTS.get(usize::try_from(variant).ok()?)?;
        let max_age_us = Some(max_age_us).filter(|us| *us > 0);
        is_sound.then_some(GroupRules {
            idle_us,
            patience_us,
            settle_us,
            hold_us,
            answer_us,
            variant,
            max_age_us,
            scale,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupRules, ScaleRules, Variant};

    #[test]
    fn rules_are_read_as_they_were_written() {
        let scale = ScaleRules {
            capacity: 100_000,
            up: 750,
            up_for_us: 2,
            down: 300,
            down_for_us: 30,
            cooldown_us: 10,
            min: 1,
            max: 4,
            weighs: true,
        };
        let rules = GroupRules {
            idle_us: 160_000_000,
            patience_us: 1,
            settle_us: 2,
            hold_us: 3,
            answer_us: 4,
            variant: Variant::Exact,
            max_age_us: None,
            scale: Some(scale),
        };
        let other = GroupRules { variant: Variant::Pin, max_age_us: Some(7), scale: None, ..rules };
        let filtered = GroupRules { variant: Variant::Bloom, ..rules };
        for rules in [rules, other, filtered] {
            assert_eq!(GroupRules::of_text(&rules.to_text()), Some(rules));
        }
        let text = rules.to_text();
        for (part, other) in [
            ("160000000", "0"),
            (",1,2", ",-1,2"),
            (",100000,", ",0,"),
            (",1,4,", ",5,4,"),
            (",4,0,", ",4,9,"),
            (",4,0,", ",4,3,"),
        ] {
            assert_eq!(GroupRules::of_text(&text.replacen(part, other, 1)), None, "{part} -> {other}");
        }
    }
}
