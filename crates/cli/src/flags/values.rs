//! What flags can say, from text.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::time::Duration;
use unthread_checker::execution::MemoryModel;
use unthread_checker::explore::{Engine, Monitor};

/// One memory model or all of them.
#[derive(Clone, Debug)]
pub(crate) struct Memories(pub(crate) Vec<MemoryModel>);

pub(super) fn memories() -> impl TypedValueParser<Value = Memories> {
    let all = PossibleValue::new("all").help("One after the other");
    PossibleValuesParser::new(MemoryModel::ALL.iter().map(describe).chain([all])).map(|name| {
        Memories(MemoryModel::ALL.into_iter().filter(|memory| name == "all" || memory.to_string() == name).collect())
    })
}

pub(super) fn memory() -> impl TypedValueParser<Value = MemoryModel> {
    PossibleValuesParser::new(MemoryModel::ALL.iter().map(describe)).try_map(|name| name.parse::<MemoryModel>())
}

fn describe(memory: &MemoryModel) -> PossibleValue {
    let (name, help) = match memory {
        MemoryModel::Sc => ("sc", "Sequential consistency: threads take turns"),
        MemoryModel::Tso => ("tso", "Total store order (x86): a queue of stores per thread"),
        MemoryModel::Pso => ("pso", "Partial store order (SPARC): a queue per thread and location"),
    };
    PossibleValue::new(name).help(help)
}

pub(super) fn engine() -> impl TypedValueParser<Value = Engine> {
    let value = |engine: &Engine| PossibleValue::new(engine.name()).help(engine.describe());
    PossibleValuesParser::new(Engine::ALL.iter().map(value)).try_map(|name| name.parse::<Engine>())
}

pub(super) fn monitor() -> impl TypedValueParser<Value = Monitor> {
    let value = PossibleValue::new(Monitor::StoreBuffers.name()).help("Would stores that wait make a difference?");
    PossibleValuesParser::new([value]).map(|_| Monitor::StoreBuffers)
}

pub(super) fn define(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as N=4")?;
    if name.is_empty() {
        return Err("the name is missing: NAME=VALUE, such as N=4".to_string());
    }
    let value = value.parse().map_err(|_| format!("`{value}` is not an integer"))?;
    Ok((name.to_string(), value))
}

pub(super) fn range(text: &str) -> Result<(String, i64, i64), String> {
    let mistake = || format!("`{text}` is not a constant and its values; expected NAME=LOW..HIGH, such as N=1..6");
    let (name, values) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(mistake)?;
    let (low, high) = values.split_once("..").ok_or_else(mistake)?;
    match (low.parse(), high.parse()) {
        (Ok(low), Ok(high)) if low < high => Ok((name.to_string(), low, high)),
        _ => Err(mistake()),
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is not a unit of time; there are ms, s, m and h")),
    };
    let seconds: f64 = number.parse().map_err(|_| "expected a time such as 30, 30s or 2m".to_string())?;
    Duration::try_from_secs_f64(seconds * factor).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let read = |text: &str| duration(text).map(|time| time.as_millis());
        assert_eq!(read("30"), Ok(30_000));
        assert_eq!(read("2m"), Ok(120_000));
        assert_eq!(read("1.5s"), Ok(1_500));
        assert_eq!(read("250ms"), Ok(250));
        assert!(read("soon").is_err() && read("3 weeks").is_err() && read("").is_err());
    }
}
