//! Reads parameter `ras`: the managers to look for (`slurm,pbs`), or all managers but these (`^slurm,pbs`).

use super::Manager;
use crate::params::{ParamError, Params};

/// Other words of the field's lists. None of them is a manager, so a list of them alone turns all managers off.
const OTHERS: [&str; 5] = ["hosts", "simulator", "testrm", "bootstrap", "pmix"];

/// The managers that are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    words: Vec<String>,
    /// True when the words name the managers that are left out.
    excludes: bool,
}

impl Selection {
    /// Reads the parameter; without it all managers are looked for.
    ///
    /// # Errors
    /// A word that the field does not have.
    pub fn of(params: &Params) -> Result<Selection, ParamError> {
        let text = params.text("ras")?.unwrap_or_default().trim();
        let (excludes, list) = text.strip_prefix('^').map_or((text.is_empty(), text), |list| (true, list));
        let words: Vec<String> =
            list.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect();
        let known = |word: &String| {
            OTHERS.contains(&word.as_str()) || Manager::ALL.iter().any(|manager| manager.word() == word)
        };
        match words.iter().all(known) && (excludes || !words.is_empty()) {
            true => Ok(Selection { words, excludes }),
            false => Err(params.refuse(
                "ras",
                "a list of hosts, slurm, pbs, pals, lsf, gridengine and flux, with ^ in front of it to leave them out",
            )),
        }
    }

    /// True when this manager is looked for. The field has no word for PALS: its nodes are those of PBS.
    #[must_use]
    pub fn admits(&self, manager: Manager) -> bool {
        let named = |word: &String| word == manager.word() || (manager == Manager::Pals && word == "pbs");
        self.words.is_empty() || self.words.iter().any(named) != self.excludes
    }
}
