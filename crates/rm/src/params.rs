//! MCA parameters: names and values from the command line, the environment and files, with typed
//! getters. Unknown names are kept without a word, as the field does: they may belong to a library
//! of the application.

mod table;

use std::collections::BTreeMap;

use thiserror::Error;

pub use table::{KNOWN, Kind, Known};

/// Parameters by name; what is set later wins, so load files first, then the environment, then the
/// command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    values: BTreeMap<String, String>,
}

/// A parameter that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// Its value is not of its kind.
    #[error("parameter {name} has the value {value:?}, but it must be {allowed}")]
    BadValue {
        /// Name.
        name: String,
        /// What was given.
        value: String,
        /// What would be right.
        allowed: String,
    },
    /// A file with a line that is no `name = value`.
    #[error("parameter file {file}, line {line}: {text:?} is not of the form name = value")]
    BadLine {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is there.
        text: String,
    },
}

/// Prefix of a parameter in the environment.
pub const ENV_PREFIX: &str = "PRTE_MCA_";

impl Params {
    /// Sets one parameter (`--prtemca name value`).
    pub fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// Takes every `PRTE_MCA_name=value` of an environment.
    pub fn load_env<'a>(&mut self, environment: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (variable, value) in environment {
            if let Some(name) = variable.strip_prefix(ENV_PREFIX).filter(|n| !n.is_empty()) {
                self.set(name, value);
            }
        }
    }

    /// Takes the text of a parameter file: `name = value`, `#` begins a comment line, and a value
    /// may be in quotes.
    ///
    /// # Errors
    /// File and line of the first line that is not of that form.
    pub fn load_file(&mut self, file: &str, text: &str) -> Result<(), ParamError> {
        for (index, raw) in text.lines().enumerate() {
            let line = raw.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let pair = line.split_once('=').map(|(n, v)| (n.trim(), v.trim()));
            let good = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
            let Some((name, value)) = pair.filter(|(name, _)| good(name)) else {
                return Err(ParamError::BadLine { file: file.to_owned(), line: index + 1, text: line.to_owned() });
            };
            let bare = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
            self.set(name.strip_prefix(ENV_PREFIX).unwrap_or(name), bare);
        }
        Ok(())
    }

    /// Every parameter that is set, by name: what a daemon is to be told.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// True when somebody set it.
    #[must_use]
    pub fn is_set(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Checks every known parameter that is set, so that a slip is found before anything starts.
    ///
    /// # Errors
    /// The first bad value in the order of names.
    pub fn check(&self) -> Result<(), ParamError> {
        for (name, value) in self.iter() {
            if let Some(known) = Known::of(name)
                && !known.kind.accepts(value)
            {
                return Err(bad(name, value, &known.kind));
            }
        }
        Ok(())
    }

    /// The text of a parameter: as set, else its default, else nothing. `none` of a path or list
    /// that has a default is the user's way to say nothing, and is left to the caller.
    ///
    /// # Errors
    /// A word that is not one of those allowed.
    pub fn text(&self, name: &str) -> Result<Option<&str>, ParamError> {
        let known = Known::of(name);
        let value = self.values.get(name).map(String::as_str).or(known.and_then(|k| k.default));
        match (value, known) {
            (Some(value), Some(known)) if !known.kind.accepts(value) => Err(bad(name, value, &known.kind)),
            _ => Ok(value),
        }
    }

    /// A whole number that is not negative. Unset and without a default: 0.
    ///
    /// # Errors
    /// Not a number, or out of the parameter's range.
    pub fn number(&self, name: &str) -> Result<u32, ParamError> {
        let Some(value) = self.text(name)? else {
            return Ok(0);
        };
        parse_number(value)
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(|| bad(name, value, &Kind::Number(0, i64::from(u32::MAX))))
    }

    /// A whole number that may be negative (`-1` = no limit). Unset and without a default: 0.
    ///
    /// # Errors
    /// Not a number, or out of the parameter's range.
    pub fn signed(&self, name: &str) -> Result<i64, ParamError> {
        let Some(value) = self.text(name)? else {
            return Ok(0);
        };
        parse_number(value).ok_or_else(|| bad(name, value, &Kind::Number(i64::MIN, i64::MAX)))
    }

    /// Yes or no. Unset and without a default: no.
    ///
    /// # Errors
    /// Neither of them.
    pub fn flag(&self, name: &str) -> Result<bool, ParamError> {
        let Some(value) = self.text(name)? else {
            return Ok(false);
        };
        parse_flag(value).ok_or_else(|| bad(name, value, &Kind::Flag))
    }
}

fn bad(name: &str, value: &str, kind: &Kind) -> ParamError {
    ParamError::BadValue { name: name.to_owned(), value: value.to_owned(), allowed: kind.to_string() }
}

fn parse_number(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}

/// The words for yes and no that the field takes anywhere; any number but 0 is yes.
#[must_use]
pub fn parse_flag(text: &str) -> Option<bool> {
    match text.trim().to_ascii_uppercase().as_str() {
        "T" | "Y" | "TRUE" | "YES" | "ENABLE" | "ENABLED" | "ON" => Some(true),
        "F" | "N" | "FALSE" | "NO" | "DISABLE" | "DISABLED" | "OFF" => Some(false),
        number => parse_number(number).map(|n| n != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_loaded_later_wins() {
        let mut params = Params::default();
        params.load_file("conf", "# site\nrml_base_radix = 8\n prte_tmpdir_base = \"/big\"\n\n").unwrap();
        params.load_env([("PRTE_MCA_rml_base_radix", "16"), ("HOME", "/root")]);
        assert_eq!(params.number("rml_base_radix"), Ok(16));
        params.set("rml_base_radix", "2");
        assert_eq!(params.number("rml_base_radix"), Ok(2));
        assert_eq!(params.text("prte_tmpdir_base"), Ok(Some("/big")));
        assert_eq!(params.iter().count(), 2);
    }

    #[test]
    fn a_bad_value_is_one_error_with_name_value_and_what_is_allowed() {
        let refused = |name: &str, value: &str| {
            let mut params = Params::default();
            params.set(name, value);
            params.check().unwrap_err().to_string()
        };
        insta::assert_snapshot!(
            [
                refused("rml_base_radix", "x"),
                refused("rml_base_radix", "1"),
                refused("plm_ssh_no_tree_spawn", "maybe"),
                refused("plm", "pigeon"),
                refused("state_base_verbose", "-3"),
                refused("prte_set_default_slots", "rows"),
            ]
            .join("\n")
        );
    }

    #[test]
    fn unknown_parameters_are_kept_silently() {
        let mut params = Params::default();
        params.set("btl_tcp_if_include", "eth0");
        assert_eq!(params.check(), Ok(()));
        assert_eq!(params.text("btl_tcp_if_include"), Ok(Some("eth0")));
    }

    #[test]
    fn every_default_is_a_legal_value_and_names_are_sorted_and_unique() {
        for known in KNOWN {
            assert!(known.default.is_none_or(|d| known.kind.accepts(d)), "{}", known.name);
        }
        assert!(KNOWN.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn a_malformed_file_is_refused_with_its_line() {
        let error = Params::default().load_file("conf", "a = 1\nb 2\n").unwrap_err();
        assert_eq!(error.to_string(), "parameter file conf, line 2: \"b 2\" is not of the form name = value");
    }

    #[test]
    fn the_table_of_known_parameters() {
        let line = |k: &Known| format!("{} ({}; default {}): {}", k.name, k.kind, k.default.unwrap_or("-"), k.doc);
        insta::assert_snapshot!(KNOWN.iter().map(line).collect::<Vec<_>>().join("\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_file_makes_the_parser_panic(text in "\\PC{0,80}") {
            let _ = Params::default().load_file("f", &text);
        }
    }
}
