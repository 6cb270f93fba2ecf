//! Refusals of lines that cannot be carried out: every case as it appears on the terminal.

use ferrite_cli::args::{Environment, Parsed, parse};
use ferrite_cli::frame::refusal;
use ferrite_rm::Params;

/// The framed text for a line; arguments are separated by blanks, `''` is an empty one.
fn told(line: &str) -> String {
    let args: Vec<String> = line.split_whitespace().map(|a| a.replace("''", "")).collect();
    let text = match parse(&args, &Environment::new()) {
        Err(error) => refusal("prterun", &error),
        Ok(Parsed::Run(mut run)) => match run.apply_defaults(&Params::default()) {
            Ok(()) => format!("accepted, with warnings {:#?}\n", run.warnings),
            Err(error) => refusal("prterun", &error),
        },
        Ok(Parsed::Print(text)) => text,
    };
    format!("$ prterun {line}\n{text}")
}

fn all(lines: &[&str]) -> String {
    lines.iter().map(|line| told(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn unknown_options() {
    insta::assert_snapshot!(all(&[
        "--hots n0 ./a",
        "--zzz ./a",
        "-Z ./a",
        "-n 1 ./a : --bynod ./b",
        "--help --zzz",
        "--help zzz",
        "--ntasks 4 ./a",
        "-ntasks=4 ./a",
        "-ppn 2 ./a",
        "-env A=1 ./a",
        "--nmu 3 ./a",
        "--bind core ./a",
        "--map core ./a"
    ]));
}

#[test]
fn missing_programs() {
    insta::assert_snapshot!(all(&["", "-n 4", "-n 4 --", "-n 1 ./a :", ": ./a", "-n 1 ./a : -n 2 : ./b", "-n 1 ''"]));
}

#[test]
fn missing_values() {
    insta::assert_snapshot!(all(&[
        "-n",
        "--host",
        "--host --np 4 ./a",
        "-n : ./a",
        "--prtemca plm",
        "--wdir= ./a",
        "--hostfile '' ./a",
        "-x -n 1 ./a",
        "--np= ./a",
        "-N= ./a",
    ]));
}

#[test]
fn sizes() {
    insta::assert_snapshot!(all(&[
        "-n -3 ./a",
        "-n 0 ./a",
        "--np four ./a",
        "-n 99999999999 ./a",
        "-n4x ./a",
        "-N -1 ./a",
        "-n 1 -np 2 ./a"
    ]));
}

#[test]
fn repeated_and_contradicting_options() {
    insta::assert_snapshot!(all(&[
        "--wdir /a --wd /b ./a",
        "--map-by core --map-by node ./a",
        "--map-by core -N 2 ./a",
        "--bynode --map-by core ./a",
        "-n 1 --output tag=0 ./a : --output tag ./b",
        "--output dir=d,file=f ./a",
        "--output copy,nocopy ./a",
        "--timeout 5 ./a : --timeout 6 ./b",
        "--runtime-options timeout=5 --timeout 6 ./a",
        "--rtos notifyerrors ./a",
        "--continuous --rtos continuous=0 ./a",
        "--map-by :over -n 1 ./a : --map-by node:noover -n 1 ./b",
        "--map-by :inherit -n 1 ./a : --map-by :noinherit -n 1 ./b",
        "--cpu-set 0-3 --map-by core ./a",
        "--cpus-per-rank 2 --rankfile r ./a",
        "-n 1 ./a : --display map --display map ./b",
    ]));
}

#[test]
fn words_and_values() {
    insta::assert_snapshot!(all(&[
        "--output foo ./a",
        "--output ta ./a",
        "--output tag=maybe ./a",
        "--output dir ./a",
        "--output pattern ./a",
        "--output file=run%n:pattern ./a",
        "--output file=%r%x:pattern ./a",
        "--display mpa ./a",
        "--display topo= ./a",
        "--display map=maybe ./a",
        "--display map:svg ./a",
        "--rtos nonsense ./a",
        "--rtos recoverable=perhaps ./a",
        "--rtos max-restarts=often ./a",
        "--grace soon ./a",
        "--grace 0 ./a",
        "--grace 5 --grace-signal all ./a",
        "--grace 5 --grace-signal NIX ./a",
        "--grace-signal USR1 ./a",
        "--rtos max-restarts=2,stop-in-init ./a",
        "--stdin -1 ./a",
        "--stdin 1:2 ./a",
        "--timeout soon ./a",
        "--timeout -5 ./a",
        "--forward-signals TERM ./a",
        "--forward-signals 99 ./a",
        "--personality slurm ./a",
        "--report-pid 5 ./a",
        "--allow-run-as-root=perhaps ./a",
        "--default-hostfile a,b ./a",
    ]));
}

#[test]
fn environment() {
    insta::assert_snapshot!(all(&[
        "-x =v ./a",
        "--set-env NAME ./a",
        "--unset-env =x ./a",
        "--append-env PATH /opt ./a",
        "--prepend-env PATH[::] /opt ./a",
        "--mca =x y ./a",
        "-x NOT_THERE -x PREFIX_* -x PMIX_RANK ./a",
        "--mca plm_ssh_agent ssh ./a",
    ]));
}

#[test]
fn places_of_installations() {
    insta::assert_snapshot!(all(&[
        "--prefix opt ./a",
        "--prefix /opt --noprefix ./a",
        "--pmix-prefix p ./a",
        "--app-prefix a ./a",
        "--app-pmix-prefix /p --no-app-prefix ./a",
        "--prefix /opt --dvm search ./a",
        "--max-vm-size none ./a",
        "--wdir /tmp --set-cwd-to-session-dir ./a",
    ]));
}

#[test]
fn hosts_and_placement() {
    insta::assert_snapshot!(all(&[
        "--host n0,,n1 ./a",
        "--host n0:x ./a",
        "--host +q ./a",
        "--host n0;rm ./a",
        "--map-by nonsense ./a",
        "--map-by core:BOGUS ./a",
        "--map-by ppr:x:node ./a",
        "--rank-by nonsense ./a",
        "--bind-to nonsense ./a",
        "--map-by '' ./a",
        "--map-by ppr:2 ./a",
        "--mapby span ./a",
        "--map-by rankfile ./a",
        "--map-by slot:span ./a",
        "--map-by device=gpu,ndev=2 ./a",
        "--bindto core:limit ./a",
    ]));
}

#[test]
fn options_of_the_field_that_are_not_built() {
    insta::assert_snapshot!(all(&[
        "--dvm search ./a",
        "--app file",
        "--preload-binary --wdir /d ./a",
        "--preload-files f --wdir /d ./a",
        "--tune f ./a",
        "--report-uri - ./a",
        "-v -q ./a",
        "--rtos show-progress -q ./a",
        "--rtos show-progress --dvm search ./a",
        "--xterm 1 ./a",
        "--show-progress ./a",
        "--rankfile r ./a",
        "--cpu-set 0-3 ./a",
        "--use-hwthread-cpus ./a",
        "--cpus-per-proc 2 ./a",
    ]));
}

#[test]
fn deprecated_options_are_converted_with_a_warning() {
    insta::assert_snapshot!(all(&[
        "--oversubscribe --bynode --tag-output --report-bindings --bind-to-core ./a",
        "-npernode 2 --display-map ./a",
        "--output-directory d --disable-recovery --debug -p ./a",
        "--personality ompi --oversubscribe ./a",
        "--oversubscribe=no ./a",
    ]));
}

#[test]
fn what_a_process_cannot_take() {
    insta::assert_snapshot!(all(&[
        "--mem 4X ./a",
        "--mem 0 ./a",
        "--resource fpga ./a",
        "--resource fpga=0 ./a",
        "--resource , ./a",
        "--resource fpga=1 --resource fpga=2 ./a",
        "--mem 1G --resource mem=2G ./a",
    ]));
}
