//! "Did you mean": the nearest known name.

/// The candidate nearest to `name`, if one is near enough to be what was meant.
pub(super) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Garbage can be long, and no long name is one slip away from a short one.
    if name.len() > 64 {
        return None;
    }
    let allowed = match name.chars().count() {
        0 | 1 => 0,
        length => (length / 3).max(1),
    };
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 64 && *candidate != name)
        .map(|candidate| (strsim::damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// A hint that names the nearest candidate, or else `otherwise`.
pub(super) fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    match nearest(name, candidates) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => otherwise.to_string(),
    }
}
