//! Nodes that a DVM shall get, as written: `--add-host`, `--add-hostfile` and `--activate` of a job, and the options of
//! `pdvm grow` that mean the same. This module keeps the names of files; `setup` reads them.

use ferrite_rm::added::{parse_activate, parse_list};
use ferrite_rm::{Activated, Added, AddedError};

use super::error::UsageError;

/// The nodes of a line. The options of several applications add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrowAsk {
    /// Hosts by name.
    pub hosts: Vec<Added>,
    /// Hostfiles with hosts to add.
    pub hostfiles: Vec<String>,
    /// Nodes of the allocation that shall have a daemon.
    pub activate: Vec<Activated>,
}

impl GrowAsk {
    /// True when no nodes are asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == GrowAsk::default()
    }

    /// Adds the values of `--add-host`, or of the option that means the same elsewhere.
    pub(crate) fn add_hosts(&mut self, option: &str, lists: &[String]) -> Result<(), UsageError> {
        if lists.is_empty() {
            return Ok(());
        }
        for added in parse_list(&lists.join(",")).map_err(|e| refused(option, &e))? {
            add_once(&mut self.hosts, added);
        }
        Ok(())
    }

    /// Adds the value of `--add-hostfile`, or of the option that means the same elsewhere.
    pub(crate) fn add_hostfile(&mut self, option: &str, file: Option<String>) -> Result<(), UsageError> {
        match file {
            None => Ok(()),
            Some(file) if file.is_empty() => {
                Err(UsageError::value(option, "the value is empty", "Give the name of a file, or remove the option."))
            }
            Some(file) => {
                add_once(&mut self.hostfiles, file);
                Ok(())
            }
        }
    }

    /// Adds the values of `--activate`.
    pub(crate) fn add_activate(&mut self, specs: &[String]) -> Result<(), UsageError> {
        for spec in specs {
            for part in parse_activate(spec).map_err(|e| refused("--activate", &e))? {
                add_once(&mut self.activate, part);
            }
        }
        Ok(())
    }
}

/// Adds an item, unless another application has named it.
fn add_once<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// Returns the error for a wrong list: the parser's text, with the name of the option.
pub(crate) fn refused(option: &str, error: &AddedError) -> UsageError {
    let text = match error {
        AddedError::List(error) => error.to_string().replace("--host", option),
        error => format!("{option}: {error}"),
    };
    UsageError::Foreign { text, next: "" }
}
