//! Schedules: which step comes next. Plain data that prints and parses.
//!
//! The printed form is made to be pasted into a shell: steps joined by dots, each a thread's number and what it does.
//! `0` lets thread 0 perform its operation, `0x3` does so three times, `1f` flushes thread 1's oldest store, `1f2` the store
//! at position 2 of its buffer, `2c5` lets thread 2 perform its operation with choice 5.

use super::ThreadId;
use std::fmt;
use std::str::FromStr;

/// A step of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    /// Whose.
    pub thread: ThreadId,
    /// What.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// The thread performs its next operation.
    Run,
    /// The thread performs its next operation, which lets this be chosen: the value of a `choose`, or the thread
    /// that a notify wakes.
    Choose(i64),
    /// The store at this position of the thread's buffer goes to memory; the oldest is at 0.
    Flush(u8),
}

/// Steps from the start of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schedule(pub Vec<Step>);

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.thread.0)?;
        match self.action {
            Action::Run => Ok(()),
            Action::Choose(value) => write!(f, "c{value}"),
            Action::Flush(0) => write!(f, "f"),
            Action::Flush(at) => write!(f, "f{at}"),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for run in self.0.chunk_by(|a, b| a == b && a.action == Action::Run) {
            write!(f, "{separator}{}", run[0])?;
            if run.len() > 1 {
                write!(f, "x{}", run.len())?;
            }
            separator = ".";
        }
        Ok(())
    }
}

/// More steps than any schedule has: protects against `0x999999999`.
const MOST_STEPS: usize = 10_000_000;

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        for part in text.split('.').filter(|_| !text.is_empty()) {
            let (step, times) = parse_part(part).ok_or_else(|| {
                format!("`{part}` is not a step; steps look like 0, 0x3, 1f, 1f2 or 2c5, joined by dots")
            })?;
            if steps.len() + times > MOST_STEPS {
                return Err(format!("a schedule has at most {MOST_STEPS} steps"));
            }
            steps.extend(std::iter::repeat_n(step, times));
        }
        Ok(Schedule(steps))
    }
}

fn parse_part(part: &str) -> Option<(Step, usize)> {
    let digits = part.bytes().take_while(u8::is_ascii_digit).count();
    let (thread, rest) = part.split_at(digits);
    let thread = ThreadId(thread.parse().ok()?);
    let (action, times) = match rest.split_at_checked(1) {
        None => (Action::Run, 1),
        Some(("x", times)) => (Action::Run, times.parse().ok()?),
        Some(("f", "")) => (Action::Flush(0), 1),
        Some(("f", at)) => (Action::Flush(at.parse().ok()?), 1),
        Some(("c", value)) => (Action::Choose(value.parse().ok()?), 1),
        Some(_) => return None,
    };
    Some((Step { thread, action }, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_print_and_parse_back() {
        for text in ["", "0", "0x3.1.1f.2f1.1c-3", "12x2.3f255"] {
            let schedule: Schedule = text.parse().unwrap();
            assert_eq!(schedule.to_string(), text);
        }
    }

    #[test]
    fn what_is_not_a_schedule_is_named() {
        for text in ["x", "1g", "0x", "0..1", "é", "0x99999999999", "99999", "0x9999999"] {
            let parsed = text.parse::<Schedule>();
            assert_eq!(parsed.is_err(), text != "0x9999999", "{text}");
        }
    }
}
