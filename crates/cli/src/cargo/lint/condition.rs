//! Which parts of a crate are compiled when it is checked.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

/// Whether what has these attributes may be compiled with this `cfg`, or with one of the usual ones.
pub(super) fn may_be_active(attributes: &[Attribute], cfg: &str) -> bool {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions
        .into_iter()
        .all(|attribute| attribute.parse_args::<Meta>().map_or(true, |it| holds(&it, cfg) != Some(false)))
}

/// Whether a condition holds, where that can be said: others depend on the machine, or on features.
fn holds(condition: &Meta, cfg: &str) -> Option<bool> {
    match condition {
        Meta::Path(path) => (path.is_ident("loom") || path.is_ident("unthread") || path.is_ident(cfg)).then_some(true),
        Meta::NameValue(_) => None,
        Meta::List(list) => {
            let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
            let inner: Vec<Option<bool>> = inner.iter().map(|inner| holds(inner, cfg)).collect();
            let all_are = |value| inner.iter().all(|it| *it == Some(value));
            let any_is = |value| inner.contains(&Some(value));
            match list.path.get_ident()?.to_string().as_str() {
                "not" => inner.first().copied().flatten().map(|it| !it),
                "all" if any_is(false) => Some(false),
                "all" if all_are(true) => Some(true),
                "any" if any_is(true) => Some(true),
                "any" if all_are(false) => Some(false),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::may_be_active;

    fn is_active(cfg: &str) -> bool {
        let item: syn::ItemUse = syn::parse_str(&format!("#[cfg({cfg})] use a::b;")).unwrap();
        may_be_active(&item.attrs, "checked")
    }

    #[test]
    fn conditions_are_judged_as_far_as_they_are_known() {
        for active in [
            "loom",
            "unthread",
            "checked",
            "unix",
            "feature = \"x\"",
            "any(loom, unix)",
            "not(unix)",
            "all(test, loom)",
            "not(all(loom, unix))",
        ] {
            assert!(is_active(active), "{active}");
        }
        for inactive in ["not(loom)", "not(unthread)", "not(checked)", "all(unix, not(loom))", "not(any(loom, unix))"] {
            assert!(!is_active(inactive), "{inactive}");
        }
    }
}
