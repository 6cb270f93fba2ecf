//! MCA parameters: names and values from files, the environment and the command line, with typed getters.
//!
//! One table ([`KNOWN`]) has the parameters that are used, another ([`UNUSED`]) those of the field that are not, each
//! with a reason. [`Params::check`] refuses what cannot be meant, and [`Params::remarks`] says what has no effect.

mod kind;
mod limits;
mod names;
mod networks;
mod ompi;
mod origin;
mod table;
mod unused;

use std::collections::BTreeMap;

use thiserror::Error;

pub use kind::Kind;
pub use limits::{SysLimit, SysLimitValue};
pub use names::{Meaning, nearest};
pub use networks::Networks;
pub use origin::Origin;
pub use table::{KNOWN, Known};
pub use unused::{UNUSED, Unused};

/// Parameters by name; what is set later wins, so load files first, then the environment, then the
/// command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Parameters that are used by their own names, others as written.
    values: BTreeMap<String, Setting>,
}

/// One parameter that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its value; empty only for an unknown name on the command line.
    pub value: String,
    /// The origin of the value.
    pub origin: Origin,
}

/// A parameter that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// A value that is not of the parameter's kind.
    #[error("parameter {name} has the value {value:?} ({origin}), but it must be {allowed}")]
    BadValue {
        /// Name.
        name: String,
        /// The value as given.
        value: String,
        /// The origin of the value.
        origin: Origin,
        /// The valid values, and what is wrong in this one where that is not obvious.
        allowed: String,
    },
    /// A file with a line that is no `name = value`.
    #[error("parameter file {file}, line {line}: {text:?} is not of the form name = value")]
    BadLine {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// Two parameters that exclude each other.
    #[error("{one} and {other} cannot both be set; remove one of them")]
    Both {
        /// One, with its origin.
        one: String,
        /// The other, with its origin.
        other: String,
    },
    /// A name on the command line that no parameter has.
    #[error("--prtemca {name}: there is no such parameter{}", hint(.name))]
    Unknown {
        /// As written.
        name: String,
    },
}

/// Frameworks of Open MPI's libraries, which have parameters of their own.
const LIBRARIES: [&str; 11] = ["btl", "coll", "common", "mpi", "mtl", "ompi", "opal", "osc", "pml", "smsc", "topo"];

fn hint(name: &str) -> String {
    if LIBRARIES.contains(&name.split('_').next().unwrap_or_default()) {
        return format!("; a parameter of Open MPI's libraries is given with --mca {name}, or as OMPI_MCA_{name}");
    }
    nearest(name).map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

/// Prefix of a parameter in the environment.
pub const ENV_PREFIX: &str = "PRTE_MCA_";

impl Params {
    /// Sets one parameter on behalf of the runtime.
    pub fn set(&mut self, name: &str, value: &str) {
        self.put(name, value, Origin::Runtime);
    }

    /// Sets a parameter to the default of the DVM, unless it is set.
    pub fn set_default(&mut self, name: &str, value: &str) {
        if !self.is_set(name) {
            self.put(name, value, Origin::Dvm);
        }
    }

    /// Sets one parameter of the command line (`--prtemca name value`).
    pub fn set_by_line(&mut self, name: &str, value: &str) {
        self.put(name, value, Origin::CommandLine(name.to_owned()));
    }

    /// Sets a parameter by its name or a synonym. An empty value unsets it.
    fn put(&mut self, name: &str, value: &str, origin: Origin) {
        let meaning = Meaning::of(name);
        let name = match meaning {
            Meaning::Used(known) => known.name,
            Meaning::Unused(_) | Meaning::Unknown => name,
        };
        let is_slip = matches!((meaning, &origin), (Meaning::Unknown, Origin::CommandLine(_)));
        if value.trim().is_empty() && !is_slip {
            self.values.remove(name);
        } else {
            self.values.insert(name.to_owned(), Setting { value: value.to_owned(), origin });
        }
    }

    /// Takes every `PRTE_MCA_name=value` of an environment.
    pub fn load_env<'a>(&mut self, environment: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (variable, value) in environment {
            if let Some(name) = variable.strip_prefix(ENV_PREFIX).filter(|n| !n.is_empty()) {
                self.put(name, value, Origin::Environment(variable.to_owned()));
            }
        }
    }

    /// Takes the text of a parameter file: `name = value`, `#` begins a comment line, and a value
    /// may be in quotes.
    ///
    /// # Errors
    /// File and line of the first line that is not of that form.
    pub fn load_file(&mut self, file: &str, text: &str) -> Result<(), ParamError> {
        for (line, name, value) in lines(file, text)? {
            let name = name.strip_prefix(ENV_PREFIX).unwrap_or(name);
            self.put(name, value, Origin::File { file: file.to_owned(), line });
        }
        Ok(())
    }

    /// Settings without effect: one line for each parameter, in the order of their names. None when parameter
    /// `ferrite_param_warnings` is off.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        if !self.flag("ferrite_param_warnings").unwrap_or(true) {
            return Vec::new();
        }
        let remark = |(name, setting): (&String, &Setting)| {
            let origin = &setting.origin;
            match Meaning::of(name) {
                _ if *origin == Origin::Runtime => None,
                Meaning::Used(_) => None,
                Meaning::Unused(group) => {
                    Some(format!("parameter {name} ({origin}) is not used by Ferrite: {}", group.reason))
                }
                Meaning::Unknown => Some(format!("there is no parameter {name} ({origin}){}", hint(name))),
            }
        };
        self.values.iter().filter_map(remark).collect()
    }

    /// Returns the setting of a parameter, if it is set.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.values.get(name)
    }

    /// The names that the environment sets.
    pub fn of_environment(&self) -> impl Iterator<Item = &str> {
        let set = self.values.iter().filter(|(_, setting)| matches!(setting.origin, Origin::Environment(_)));
        set.map(|(name, _)| name.as_str())
    }

    /// Returns every parameter that is set, by name; daemons get these.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.value.as_str()))
    }

    /// True when the parameter is set.
    #[must_use]
    pub fn is_set(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Checks every known parameter that is set, so that a slip is found before anything starts.
    ///
    /// # Errors
    /// The first bad value in the order of names, or a name of the command line that means nothing.
    pub fn check(&self) -> Result<(), ParamError> {
        for (name, setting) in &self.values {
            match Meaning::of(name) {
                Meaning::Used(known) if !known.kind.accepts(&setting.value) => {
                    return Err(self.bad(name, &setting.value, &known.kind));
                }
                Meaning::Unknown if matches!(setting.origin, Origin::CommandLine(_)) => {
                    return Err(ParamError::Unknown { name: name.clone() });
                }
                _ => {}
            }
        }
        match self.is_set("prte_if_include") && self.is_set("prte_if_exclude") {
            true => Err(ParamError::Both { one: self.label("prte_if_include"), other: self.label("prte_if_exclude") }),
            false => Ok(()),
        }
    }

    /// The text of a parameter: as set, else its default, else nothing. `none` of a path or list
    /// that has a default is the user's way to say nothing, and is left to the caller.
    ///
    /// # Errors
    /// A word that is not one of those allowed.
    pub fn text(&self, name: &str) -> Result<Option<&str>, ParamError> {
        let known = Known::of(name);
        let value = self.values.get(name).map(|setting| setting.value.as_str()).or(known.and_then(|k| k.default));
        match (value, known) {
            (Some(value), Some(known)) if !known.kind.accepts(value) => Err(self.bad(name, value, &known.kind)),
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
            .ok_or_else(|| self.bad(name, value, &Kind::Number(0, i64::from(u32::MAX))))
    }

    /// A whole number that may be negative (`-1` = no limit). Unset and without a default: 0.
    ///
    /// # Errors
    /// Not a number, or out of the parameter's range.
    pub fn signed(&self, name: &str) -> Result<i64, ParamError> {
        let Some(value) = self.text(name)? else {
            return Ok(0);
        };
        parse_number(value).ok_or_else(|| self.bad(name, value, &Kind::Number(i64::MIN, i64::MAX)))
    }

    /// Yes or no. Unset and without a default: no.
    ///
    /// # Errors
    /// Neither of them.
    pub fn flag(&self, name: &str) -> Result<bool, ParamError> {
        let Some(value) = self.text(name)? else {
            return Ok(false);
        };
        parse_flag(value).ok_or_else(|| self.bad(name, value, &Kind::Flag))
    }

    /// The error of a value that its reader cannot use; `allowed` says what would be right.
    #[must_use]
    pub fn refuse(&self, name: &str, allowed: impl Into<String>) -> ParamError {
        let setting = self.values.get(name);
        ParamError::BadValue {
            name: name.to_owned(),
            value: setting.map(|setting| setting.value.clone()).unwrap_or_default(),
            origin: setting.map_or(Origin::Runtime, |setting| setting.origin.clone()),
            allowed: allowed.into(),
        }
    }

    /// The name of a parameter for a message, with where its value comes from.
    #[must_use]
    pub fn label(&self, name: &str) -> String {
        match self.values.get(name) {
            Some(setting) => format!("parameter {name} ({})", setting.origin),
            None => format!("parameter {name}"),
        }
    }

    fn bad(&self, name: &str, value: &str, kind: &Kind) -> ParamError {
        let origin = self.values.get(name).map_or(Origin::Runtime, |setting| setting.origin.clone());
        let fault = kind.fault(value);
        let allowed = if fault.is_empty() { kind.to_string() } else { format!("{kind}: {fault}") };
        ParamError::BadValue { name: name.to_owned(), value: value.to_owned(), origin, allowed }
    }
}

/// The lines of a parameter file: number, name, value.
fn lines<'t>(file: &str, text: &'t str) -> Result<Vec<(usize, &'t str, &'t str)>, ParamError> {
    let mut found = Vec::new();
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
        found.push((index + 1, name, bare));
    }
    Ok(found)
}

fn parse_number(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}

/// Parses the words for yes and no that the field accepts anywhere; any number but 0 is yes.
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
            params.set_by_line(name, value);
            params.check().unwrap_err().to_string()
        };
        insta::assert_snapshot!(
            [
                refused("rml_base_radix", "x"),
                refused("rml_base_radix", "0"),
                refused("plm_ssh_no_tree_spawn", "maybe"),
                refused("plm", "pigeon"),
                refused("state_base_verbose", "-3"),
                refused("prte_set_default_slots", "rows"),
                refused("ferrite_resources", "fpga=2,licence"),
                refused("prte_if_include", "eth0,10.0.0.0/99"),
                refused("prte_if_include", "10.0.0.0/99"),
                refused("prte_set_max_sys_limits", "core:0, stacks"),
            ]
            .join("\n")
        );
    }

    #[test]
    fn a_parameter_without_effect_is_remarked_upon_with_its_origin_and_once() {
        let mut params = Params::default();
        let file = "btl_tcp_if_include = eth0\nplm_ssh_delay = 2\nprte_hetero_nodes = 1\n";
        params.load_file("conf", file).unwrap();
        params.load_env([("PRTE_MCA_prte_hetero_nodes", "1"), ("PRTE_MCA_mapbi", "core"), ("PRTE_MCA_rtc", "")]);
        params.set_by_line("prte_signal", "6");
        params.set("whatever_the_head_told", "1");
        assert_eq!(params.check(), Ok(()));
        insta::assert_snapshot!(params.remarks().join("\n"));
        params.set_by_line("ferrite_param_warnings", "0");
        assert!(params.remarks().is_empty());
    }

    #[test]
    fn an_unknown_name_on_the_command_line_is_an_error_whatever_its_value() {
        for value in ["8", ""] {
            let mut params = Params::default();
            params.set_by_line("rml_base_raddix", value);
            let told = params.check().unwrap_err().to_string();
            let wanted = "--prtemca rml_base_raddix: there is no such parameter; did you mean rml_base_radix?";
            assert_eq!(told, wanted);
        }
    }

    #[test]
    fn an_empty_value_unsets_what_came_before() {
        let mut params = Params::default();
        params.load_file("conf", "mapby = core\nrml_base_radix = 2\n").unwrap();
        params.load_env([("PRTE_MCA_map_by", "")]);
        params.set_by_line("routed_radix", " ");
        assert_eq!((params.text("mapby"), params.number("rml_base_radix")), (Ok(None), Ok(64)));
    }

    #[test]
    fn a_synonym_sets_the_parameter_that_it_stands_for() {
        let mut params = Params::default();
        params.load_env([("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")]);
        assert_eq!(params.text("mapby"), Ok(Some(":oversubscribe")));
        assert!(params.remarks().is_empty());
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
