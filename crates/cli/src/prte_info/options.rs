//! The command line of `prte_info`.

#![allow(rustdoc::broken_intra_doc_links, reason = "comments here are help texts, whose brackets are no links")]

use clap::{ArgAction, CommandFactory, Parser};

use crate::args::{UsageError, version};

/// Options of `prte_info`.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "prte_info",
    about = "Shows what this installation is, and all parameters: value, default, where the value comes from, help.",
    override_usage = "prte_info [OPTIONS]",
    after_help = "Without an option: the versions, the files of parameters, and the parameters that are set.\n\
        prte_info --param plm ssh    the parameters plm_ssh_*\n\
        prte_info --all --json       everything, as JSON",
    disable_help_flag = true,
    disable_version_flag = true,
    term_width = 100
)]
pub struct InfoOptions {
    /// Show everything: versions, paths, build, all parameters, and those of the field that are not used
    #[arg(short = 'a', long)]
    pub all: bool,
    /// Show the parameters of a type (plm), or of a type and a name (plm ssh, or plm:ssh); or one parameter by its
    /// name; `all` is all of them
    #[arg(long, value_names = ["TYPE", "NAME"], num_args = 1..=2, action = ArgAction::Append)]
    pub param: Vec<String>,
    /// Show all parameters
    #[arg(long)]
    pub params: bool,
    /// Show the types of parameters
    #[arg(short = 't', long)]
    pub types: bool,
    /// Show a path: prefix, bindir, libdir, incdir, mandir, pkglibdir, sysconfdir, or all
    #[arg(long, value_name = "WHICH")]
    pub path: Option<String>,
    /// Show how it was built
    #[arg(short = 'c', long)]
    pub config: bool,
    /// Show the architecture that it was built for
    #[arg(long)]
    pub arch: bool,
    /// Show the name of this host
    #[arg(long)]
    pub hostname: bool,
    /// Show a version, or a part of it: prte, or prte:full, prte:major, prte:minor, prte:release
    #[arg(long, value_name = "WHAT[:PART]")]
    pub show_version: Option<String>,
    /// Write lines of fields with colons between them
    #[arg(long, alias = "parseable", conflicts_with_all = ["json", "pretty_print"])]
    pub parsable: bool,
    /// Write JSON
    #[arg(long, conflicts_with = "pretty_print")]
    pub json: bool,
    /// Write text for people (the default)
    #[arg(long)]
    pub pretty_print: bool,
    /// Set a parameter, to see what becomes of it
    #[arg(long, value_names = ["KEY", "VALUE"], num_args = 2, action = ArgAction::Append)]
    pub prtemca: Vec<String>,
    /// Show what holds under a personality: prte or ompi
    #[arg(long, value_name = "NAME")]
    pub personality: Option<String>,
    /// This text
    #[arg(short = 'h', long)]
    help: bool,
    /// Name and version
    #[arg(short = 'V', long)]
    version: bool,
}

/// The request of a `prte_info` line.
pub(super) enum InfoParsed {
    /// Print this and end well.
    Print(String),
    /// Look, and show.
    Show(Box<InfoOptions>),
}

/// The form of the answer.
pub(super) enum Form {
    Text,
    Parsable,
    Json,
}

/// The definitions of its options, for man page and completions.
#[must_use]
pub fn definitions() -> clap::Command {
    InfoOptions::command()
}

/// Parses what stands behind the name of the command.
///
/// # Errors
/// Anything that is no option of it.
pub(super) fn parse(args: &[String]) -> Result<InfoParsed, UsageError> {
    let line = std::iter::once("prte_info").chain(args.iter().map(String::as_str));
    let options = InfoOptions::try_parse_from(line).map_err(|error| UsageError::Conflict {
        what: error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
        next: "`prte_info --help` lists all options.".to_owned(),
    })?;
    Ok(match (options.help, options.version) {
        (true, _) => InfoParsed::Print(InfoOptions::command().render_help().to_string()),
        (false, true) => InfoParsed::Print(version("prte_info")),
        (false, false) => InfoParsed::Show(Box::new(options)),
    })
}

impl InfoOptions {
    /// `--prtemca`, in order.
    pub(super) fn parameters(&self) -> Vec<(String, String)> {
        self.prtemca.as_chunks::<2>().0.iter().map(|[key, value]| (key.clone(), value.clone())).collect()
    }

    pub(super) fn form(&self) -> Form {
        match (self.parsable, self.json) {
            (true, _) => Form::Parsable,
            (false, true) => Form::Json,
            (false, false) => Form::Text,
        }
    }

    /// True when no option says what to show.
    pub(super) fn is_open(&self) -> bool {
        let InfoOptions { all, param, params, path, config, arch, hostname, .. } = self;
        !(*all || *params || *config || *arch || *hostname) && param.is_empty() && path.is_none()
    }
}
