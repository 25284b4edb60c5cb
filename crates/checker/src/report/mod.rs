//! The forms of a [`Report`](crate::search::Report): [`text`] and [`json`] make their forms for people and for programs, [`page`] one to look at.

pub mod dot;
pub mod explain;
pub mod json;
pub mod junit;
pub mod page;
pub mod robustness;
mod snippet;
pub mod story;
mod style;
mod table;
pub mod text;
mod words;

pub use snippet::{diagnostics, error, warning};
pub use style::Style;
