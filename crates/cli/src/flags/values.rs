//! What flags can say, from text.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::time::Duration;
use unthread_checker::execution::MemoryModel;
use unthread_checker::search::{Engine, Monitor};

/// One memory model or all of them.
#[derive(Clone, Debug)]
pub(crate) struct Memories(pub(crate) Vec<MemoryModel>);

pub(super) fn memories() -> impl TypedValueParser<Value = Memories> {
    let all = PossibleValue::new("all").help("Side by side; of litmus tests, those of the language are for C only");
    PossibleValuesParser::new(MemoryModel::ALL.iter().map(describe).chain([all])).map(|name| match name.parse() {
        Ok(memory) => Memories(vec![memory]),
        Err(_) => Memories(MemoryModel::ALL.to_vec()),
    })
}

/// A machine.
pub(super) fn memory() -> impl TypedValueParser<Value = MemoryModel> {
    PossibleValuesParser::new(MemoryModel::MACHINES.iter().map(describe)).try_map(|name| name.parse::<MemoryModel>())
}

/// A machine, or what a language promises.
pub(super) fn any_memory() -> impl TypedValueParser<Value = MemoryModel> {
    PossibleValuesParser::new(MemoryModel::ALL.iter().map(describe)).try_map(|name| name.parse::<MemoryModel>())
}

fn describe(memory: &MemoryModel) -> PossibleValue {
    let alias = (memory.name() == "cpp20").then_some("rust");
    PossibleValue::new(memory.name()).help(memory.about().trim_end_matches('.')).aliases(alias)
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
    let time = Some(seconds * factor).filter(|&seconds| seconds <= LONGEST).map(Duration::from_secs_f64);
    time.ok_or_else(|| "that is more than a hundred years; leave it out for no limit".to_string())
}

/// A hundred years: clocks can add that to the present.
const LONGEST: f64 = 100.0 * 365.25 * 24.0 * 3600.0;

pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let mistake = || "expected a number of bytes such as 500M, 2G or 1.5G".to_string();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 1_u64,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return Err(format!("`{unit}` is not a unit of memory; there are K, M, G and T")),
    };
    let number: f64 = number.parse().map_err(|_| mistake())?;
    let bytes = number * factor as f64;
    // More than any machine has, and still far from what numbers cannot hold.
    if bytes <= (1_u64 << 60) as f64 {
        Ok(bytes as u64)
    } else {
        Err("that is more than there can be; leave it out for the default".to_string())
    }
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
        assert!(read(&"9".repeat(400)).unwrap_err().contains("more than a hundred years"));
        assert_eq!(read("50000h"), Ok(180_000_000_000));
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("500M"), Ok(500 << 20));
        assert_eq!(bytes("1.5GiB"), Ok(3 << 29));
        assert_eq!(bytes("2gb"), Ok(2 << 30));
        for mistake in ["", "much", "3 cows", "1.2.3", "M", "99999999T"] {
            assert!(bytes(mistake).is_err(), "{mistake}");
        }
    }
}
