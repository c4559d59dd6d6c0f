//! Substitutes of bundles (`olm.substitutesFor`): a substitute takes over the edges that lead to
//! its base, and skips the base.

use std::collections::BTreeSet;

use crate::draft::{DraftBundle, DraftPackage};

/// Redirects edges that lead to the bases of new bundles. Returns the channels with a base.
pub(crate) fn substitute(package: &mut DraftPackage, new: &mut [DraftBundle]) -> BTreeSet<String> {
    let mut changed = BTreeSet::new();
    for at in 0..new.len() {
        let Some(placement) = new[at]
            .placement
            .clone()
            .filter(|placement| !placement.substitutes_for.is_empty())
        else {
            continue;
        };
        let name = new[at].name.clone();
        let base = placement.substitutes_for;
        for channel in package
            .channels
            .iter_mut()
            .filter(|channel| channel.entry(&base).is_some())
        {
            changed.insert(channel.name.clone());
            for entry in &mut channel.entries {
                redirect(&mut entry.replaces, &mut entry.skips, &base, &name);
            }
        }
        // Bundles of the same batch may name the base too.
        for other in &mut *new {
            if let Some(placement) = other.placement.as_mut().filter(|_| other.name != name) {
                redirect(&mut placement.replaces, &mut placement.skips, &base, &name);
            }
        }
        if let Some(placement) = &mut new[at].placement
            && !placement.skips.contains(&base)
        {
            placement.skips.push(base);
        }
    }
    changed
}

/// Redirects the edges of one entry from a base to its substitute.
fn redirect(replaces: &mut String, skips: &mut Vec<String>, base: &str, substitute: &str) {
    if replaces == base {
        substitute.clone_into(replaces);
    }
    if skips.iter().any(|skip| skip == base) && !skips.iter().any(|skip| skip == substitute) {
        skips.push(substitute.to_owned());
    }
}
