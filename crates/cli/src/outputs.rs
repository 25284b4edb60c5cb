//! `--html`, `--dot` and `--junit`: files that reports are written to when everything has been checked.

use crate::flags::CheckFlags;
use crate::watch::Stopwatch;
use anyhow::Context;
use std::path::Path;
use unthread_checker::base::Verdict;
use unthread_checker::engines;
use unthread_checker::execution::MemoryModel;
use unthread_checker::program::Program;
use unthread_checker::report::dot::dot;
use unthread_checker::report::explain::Explanation;
use unthread_checker::report::json::{JsonProgress, JsonReport, exploration, sequential, witness};
use unthread_checker::report::junit::junit;
use unthread_checker::report::page::Page;
use unthread_checker::search::{Options, Report};

/// States that are looked at to say which reads saw what.
const SURVEYED_STATES: u64 = 100_000;

/// Collects reports for files.
pub(crate) struct Outputs<'f> {
    flags: &'f CheckFlags,
    page: Page,
}

impl<'f> Outputs<'f> {
    pub(crate) fn new(flags: &'f CheckFlags) -> Outputs<'f> {
        let title = format!("unthread: {}", flags.files.join(", "));
        Outputs { flags, page: Page { title, ..Page::default() } }
    }

    /// Whether anybody asked for a file.
    pub(crate) fn wanted(&self) -> bool {
        self.flags.html.is_some() || self.flags.dot.is_some() || self.flags.junit.is_some()
    }

    /// Adds a report. A page also shows what SC would have done, and what the reads saw.
    pub(crate) fn add(
        &mut self,
        program: &Program,
        options: &Options,
        report: &Report,
        mut object: JsonReport,
        progress: Vec<JsonProgress>,
    ) {
        for (shown, found) in object.observations.iter_mut().zip(&report.observations) {
            shown.witness = witness(program, options, found);
        }
        if self.flags.html.is_some() {
            self.page.add_source(&program.source.name, &program.source.text);
            // What machines do says nothing about graphs.
            let is_machine = !report.memory.is_language();
            let weak = is_machine && report.memory != MemoryModel::Sc;
            let violations = object.violations.iter_mut().zip(report.violations.iter().map(|found| &found.schedule));
            let witnesses = object.observations.iter_mut().zip(&report.observations);
            let witnesses = witnesses.filter_map(|(shown, found)| shown.witness.as_mut().zip(found.witness.as_ref()));
            for (shown, schedule) in violations.chain(witnesses).filter(|_| weak) {
                shown.sequential = Some(sequential(program, schedule));
            }
            if !is_machine {
                self.page.reports.push(object);
                return;
            }
            // Of a program that goes wrong, the reads are those of executions that go wrong, too.
            let budget = if report.verdict() == Verdict::Violation { SURVEYED_STATES / 10 } else { SURVEYED_STATES };
            let bounds = self.flags.limits.resources.bounds_of_survey();
            let stopwatch = Stopwatch::start(format!("{}: survey", program.source.name), bounds, None);
            let survey = engines::survey(program, options, budget, &stopwatch);
            stopwatch.stop();
            let mut shown = exploration(program, &survey);
            shown.progress = progress;
            object.exploration = Some(shown);
        }
        self.page.reports.push(object);
    }

    /// Writes the files that were asked for.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        if let Some(file) = &self.flags.html {
            write(file, &self.page.html())?;
        }
        if let Some(file) = &self.flags.dot {
            write(file, &self.graphs())?;
        }
        if let Some(file) = &self.flags.junit {
            write(file, &junit(&self.page.reports))?;
        }
        Ok(())
    }

    /// A graph for each violation and each witness.
    fn graphs(&self) -> String {
        let graphs = self.page.reports.iter().flat_map(|report| {
            let witnesses = report.observations.iter().filter_map(|observation| observation.witness.as_ref());
            report.violations.iter().chain(witnesses).map(move |violation| {
                let title = format!("{}: {}: {}", report.file, report.memory, violation.kind);
                let (sentence, events) = (Some(violation.sentence.clone()), violation.events.clone());
                let explanation = Explanation { sentence, events, cycle: violation.cycle.clone() };
                dot(&title, &violation.story, &explanation)
            })
        });
        let graphs: String = graphs.collect();
        if graphs.is_empty() { "digraph \"nothing to show\" {\n}\n".to_string() } else { graphs }
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
