//! The output of `prte_info`, with files and an environment of the test's own.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

use clap::Parser;
use ferrite_cli::machine::Surroundings;
use ferrite_cli::prte_info::{InfoOptions, report};
use ferrite_rm::params::{KNOWN, UNUSED};

fn ask(line: &str) -> Result<String, String> {
    let dir = tempfile::tempdir().unwrap();
    for name in ["bin", "etc", "home/.prte"] {
        std::fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    std::fs::write(dir.path().join("etc/prte-mca-params.conf"), "# site\nrouted_radix = 8\n").unwrap();
    let environment = [
        ("HOME".to_owned(), dir.path().join("home").display().to_string()),
        ("PRTE_MCA_plm_ssh_delay".to_owned(), "1".to_owned()),
        ("PRTE_MCA_map_by".to_owned(), "node".to_owned()),
    ];
    let around = Surroundings {
        environment: environment.into(),
        cwd: dir.path().to_owned(),
        exe: dir.path().join("bin/prte_info"),
        root: false,
        hostname: "head".to_owned(),
    };
    let options = InfoOptions::parse_from(std::iter::once("prte_info").chain(line.split_whitespace()));
    let shown = |text: String| text.replace(&*dir.path().to_string_lossy(), "/DIR");
    let answer = report(&options, &around, |_, _| "OpenPMIx 4.2.2 (libpmix.so.2)".to_owned());
    answer.map(shown).map_err(|(what, next)| format!("{what}\n{next}\n"))
}

#[test]
fn without_an_option_it_shows_versions_files_and_what_is_set() {
    insta::assert_snapshot!(ask("").unwrap());
}

#[test]
fn the_parameters_of_a_type_in_each_form() {
    let forms = ["--param plm slurm", "--param plm:slurm --parsable", "--param rml base --json"];
    insta::assert_snapshot!(forms.map(|line| format!("$ prte_info {line}\n{}", ask(line).unwrap())).join("\n"));
}

#[test]
fn paths_build_and_versions() {
    let lines = ["--path all", "--path bindir --parseable", "--show-version prte:major", "--hostname", "--types"];
    insta::assert_snapshot!(lines.map(|line| format!("$ prte_info {line}\n{}", ask(line).unwrap())).join("\n"));
    assert!(ask("--config").unwrap().contains("Launchers"));
    assert!(ask("--arch").unwrap().contains(std::env::consts::ARCH));
}

#[test]
fn what_does_not_exist_is_refused() {
    let lines = ["--param pml", "--param plm nothing", "--path nowhere", "--show-version mpi", "--prtemca mapbi x"];
    insta::assert_snapshot!(lines.map(|line| ask(line).unwrap_err()).join("\n"));
}

#[test]
fn all_shows_every_parameter_of_the_table_in_every_form() {
    for form in ["", " --parsable", " --json"] {
        let text = ask(&format!("--all{form}")).unwrap();
        let names =
            KNOWN.iter().map(|known| known.name).chain(UNUSED.iter().flat_map(|group| group.names.iter().copied()));
        for name in names {
            assert!(text.contains(name), "{name} is not shown by --all{form}");
        }
    }
    assert!(serde_json::from_str::<serde_json::Value>(&ask("--all --json").unwrap()).is_ok());
}

#[test]
fn one_parameter_is_shown_by_its_name_or_a_former_one() {
    let shown = ask("--param rmaps_default_mapping_policy").unwrap();
    assert!(shown.contains("\"mapby\" (current value: \"node\", data source: environment variable"), "{shown}");
    assert!(ask("--param rml_base_radix --prtemca rml_base_radix 3").unwrap().contains("current value: \"3\""));
}
