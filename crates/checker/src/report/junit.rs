//! Reports for continuous integration: a test case per file and memory model, in the XML that JUnit made common.

use super::json::{JsonReport, JsonViolation};
use super::page::escape;
use std::fmt::Write as _;

/// The reports as a test suite. A violation is a failure, an inconclusive search an error.
pub fn junit(reports: &[JsonReport]) -> String {
    let count = |verdict: &str| reports.iter().filter(|report| report.verdict == verdict).count();
    let seconds: f64 = reports.iter().filter_map(|report| report.seconds).sum();
    let (failures, errors) = (count("violation"), count("inconclusive"));
    let totals =
        format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{seconds:.3}\"", reports.len());
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_string();
    let _ = writeln!(text, "<testsuites name=\"unthread\" {totals}>\n  <testsuite name=\"unthread\" {totals}>");
    for report in reports {
        case(&mut text, report);
    }
    text + "  </testsuite>\n</testsuites>\n"
}

fn case(text: &mut String, report: &JsonReport) {
    let (file, memory, seconds) = (escape(&report.file), escape(&report.memory), report.seconds.unwrap_or(0.0));
    let _ = write!(text, "    <testcase classname=\"{file}\" name=\"{memory}\" file=\"{file}\" time=\"{seconds:.3}\"");
    if report.verdict == "verified" {
        *text += "/>\n";
        return;
    }
    *text += ">\n";
    for violation in &report.violations {
        failure(text, violation);
    }
    if report.verdict == "inconclusive" {
        let _ = writeln!(text, "      <error type=\"inconclusive\" message=\"{}\"/>", escape(report.stop));
    }
    *text += "    </testcase>\n";
}

fn failure(text: &mut String, violation: &JsonViolation) {
    let place = violation.location.as_ref();
    let place = place.map_or(String::new(), |place| format!("{}:{}:{}\n", place.file, place.line, place.column));
    let (kind, message) = (escape(violation.kind), escape(&violation.message));
    let body = escape(&format!("{place}{}\nschedule: {}", violation.sentence, violation.schedule));
    let _ = writeln!(text, "      <failure type=\"{kind}\" message=\"{message}\">{body}</failure>");
}
