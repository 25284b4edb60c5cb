//! Reports to look at: one HTML file with everything in it. It draws itself from the data inside and asks for nothing from outside.
//!
//! [`Page`] is what is shown, a JSON value that `docs/report-format.md` specifies; [`Page::html`] is the file. Whoever has [`JsonReport`]s can make
//! one, however the program ran.

use super::json::JsonReport;
use serde::Serialize;

/// What a report file shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct Page {
    pub title: String,
    pub reports: Vec<JsonReport>,
    pub sources: Vec<JsonSource>,
    pub plots: Vec<JsonPlot>,
}

/// A source text that steps point into.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonSource {
    pub file: String,
    pub text: String,
}

/// Curves over a common axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonPlot {
    pub title: String,
    pub x: String,
    pub y: String,
    pub series: Vec<JsonSeries>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonSeries {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 5] = [
    "\"use strict\";",
    include_str!("timeline.js"),
    include_str!("panels.js"),
    include_str!("exploration.js"),
    // The last one starts.
    include_str!("page.js"),
];

impl Page {
    /// Adds a source, once.
    pub fn add_source(&mut self, file: &str, text: &str) {
        if !self.sources.iter().any(|source| source.file == file) {
            self.sources.push(JsonSource { file: file.to_string(), text: text.to_string() });
        }
    }

    /// The file.
    pub fn html(&self) -> String {
        // Inside of a script element nothing but `</` ends the text, and `<!--` is special: neither is left.
        let data = serde_json::to_string(self).unwrap_or_default().replace('<', "\\u003c");
        let pieces = [
            ("title", escape(&self.title)),
            ("style", STYLE.to_string()),
            ("data", data),
            ("script", SCRIPTS.join("\n")),
        ];
        let mut html = String::new();
        for (at, part) in TEMPLATE.split("{{").enumerate() {
            let piece = part.split_once("}}").filter(|_| at > 0);
            let Some((name, rest)) = piece else {
                html += part;
                continue;
            };
            let filled = pieces.iter().find(|piece| piece.0 == name).map_or("", |piece| &piece.1);
            html = html + filled + rest;
        }
        html
    }
}

/// Text as it stands in markup.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            // Other control characters are not allowed in XML at all.
            '\t' | '\n' | '\r' => escaped.push(character),
            character if character.is_control() => escaped.push('\u{fffd}'),
            character => escaped.push(character),
        }
    }
    escaped
}
