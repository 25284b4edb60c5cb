//! Limits of searches.

use super::values::{bytes, duration};
use crate::guard::Bounds;
use crate::memory;
use clap::Args;
use std::time::Duration;
use unthread_checker::execution::MemoryModel;
use unthread_checker::search::{Limits, Options};

/// Bounds on a search. A search that met one is inconclusive.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits (a search that meets one is inconclusive)")]
pub(crate) struct LimitFlags {
    /// Executions
    #[arg(long, value_name = "N")]
    max_executions: Option<u64>,
    #[command(flatten)]
    pub(crate) resources: ResourceFlags,
    /// Steps of one execution
    #[arg(long, value_name = "N")]
    max_events: Option<u64>,
    /// Distinct states
    #[arg(long, value_name = "N")]
    max_states: Option<u64>,
    /// Stores that may wait in one thread's buffer
    #[arg(long, value_name = "N", default_value_t = MAX_BUFFER, value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) max_buffer: u8,
}

/// Longer queues of stores are rare outside of loops that never end.
const MAX_BUFFER: u8 = 8;

impl LimitFlags {
    /// Options for a search within these limits.
    pub(crate) fn options(&self, memory: MemoryModel) -> Options {
        let mut options = Options::new(memory);
        options.rules.max_buffer = self.max_buffer.into();
        options.limits = Limits {
            executions: self.max_executions.unwrap_or(u64::MAX),
            states: self.max_states.unwrap_or(u64::MAX),
            events: self.max_events.unwrap_or(u64::MAX),
            preemptions: None,
        };
        options
    }
}

/// Bounds on what a search takes.
#[derive(Debug, Args)]
pub(crate) struct ResourceFlags {
    /// Time per file and memory model: 30, 30s, 2m, 1h, 500ms
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    max_time: Option<Duration>,
    /// Main memory: 500M, 2G, 64K, a number of bytes. If nothing is said: three quarters of what the machine or its control group has
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    max_memory: Option<u64>,
}

impl ResourceFlags {
    pub(crate) fn bounds(&self) -> Bounds {
        let memory = self.max_memory.or_else(memory::default_limit);
        Bounds { time: self.max_time, memory, strict: true }
    }

    /// For what a page shows beside the report: where time is bounded, a moment of it.
    pub(crate) fn bounds_of_survey(&self) -> Bounds {
        let moment = self.max_time.map(|time| time.min(Duration::from_millis(300)));
        Bounds { time: moment, strict: false, ..self.bounds() }
    }
}

/// Bounds on a search of states.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits (a search that meets one is inconclusive)")]
pub(crate) struct SearchFlags {
    #[command(flatten)]
    pub(crate) resources: ResourceFlags,
    /// Distinct states of each search
    #[arg(long, value_name = "N")]
    max_states: Option<u64>,
}

impl SearchFlags {
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            executions: u64::MAX,
            states: self.max_states.unwrap_or(MAX_STATES),
            events: u64::MAX,
            preemptions: None,
        }
    }
}

/// More states than this come of counters without bounds more often than of programs that are large.
const MAX_STATES: u64 = 5_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_buffer_bound_is_the_checkers() {
        assert_eq!(usize::from(MAX_BUFFER), MemoryModel::Tso.rules().max_buffer);
    }
}
