//! `sim`: replays a seed, sweeps over many, counts what things cost.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ferrite_sim::{Keep, Mutation, Referee, Report, Scenario, Violation, check, run, scale, scale_table};

const USAGE: &str = "\
usage: sim run --seed N [--daemons N] [--radix R] [--trace]   one scenario
       sim sweep [--seconds S | --seeds N] [--from N] [--daemons N] [--radix R]
       sim mutants [--seeds N]                                planted faults, and how soon each is seen
       sim scale [--radix R] [--max N]                        costs as a markdown table";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options = Options { words: &words };
    let outcome = match words.first().map(String::as_str) {
        Some("run") => options.run(),
        Some("sweep") => options.sweep(),
        Some("mutants") => options.mutants(),
        Some("scale") => options.scale(),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(code) => code,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

struct Options<'a> {
    words: &'a [String],
}

impl Options<'_> {
    fn flag(&self, name: &str) -> bool {
        self.words.iter().any(|w| w == name)
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let Some(at) = self.words.iter().position(|w| w == name) else {
            return Ok(None);
        };
        let text = self.words.get(at + 1).ok_or_else(|| format!("{name} needs a number\n{USAGE}"))?;
        text.parse().map(Some).map_err(|_| format!("{name} {text}: not a number\n{USAGE}"))
    }

    fn scenario(&self, seed: u64) -> Result<Scenario, String> {
        Ok(Scenario::random(seed, self.number("--daemons")?, self.number("--radix")?))
    }

    fn run(&self) -> Result<ExitCode, String> {
        let seed = self.number("--seed")?.ok_or(USAGE)?;
        let scenario = self.scenario(seed)?;
        println!("{scenario:#?}");
        if self.flag("--trace") {
            let report = run(&scenario, Keep::All(Vec::new()), Referee::strict(&scenario));
            report.lines.iter().for_each(|line| println!("{line}"));
        }
        let report = check(&scenario);
        tell(seed, &report);
        Ok(verdict(report.violation.is_some()))
    }

    fn sweep(&self) -> Result<ExitCode, String> {
        let limit = Duration::from_secs(self.number("--seconds")?.unwrap_or(60));
        let count: Option<u64> = self.number("--seeds")?;
        let first: u64 = self.number("--from")?.unwrap_or(1);
        let (start, mut events, mut bad, mut seed) = (Instant::now(), 0u64, Vec::new(), first);
        while count.map_or(start.elapsed() < limit, |n| seed < first + n) && bad.len() < 20 {
            let report = check(&self.scenario(seed)?);
            events += 2 * report.events;
            if let Some(violation) = &report.violation {
                println!("seed {seed}: {violation}");
                bad.push(seed);
            }
            seed += 1;
        }
        let (seconds, scenarios) = (start.elapsed().as_secs_f64(), seed - first);
        println!(
            "{scenarios} scenarios (each twice), {events} events in {seconds:.1} s: {:.0} scenarios/s, {:.0} events/s, {} violations",
            scenarios as f64 / seconds,
            events as f64 / seconds,
            bad.len()
        );
        Ok(verdict(!bad.is_empty()))
    }

    fn mutants(&self) -> Result<ExitCode, String> {
        let seeds: u64 = self.number("--seeds")?.unwrap_or(300);
        let mut missed = 0;
        println!("| planted fault | seen at seed | by the guarantee |\n|---|--:|---|");
        for mutation in Mutation::ALL {
            match (1..=seeds).find_map(|seed| Some((seed, caught(mutation, seed)?))) {
                Some((seed, violation)) => println!("| {mutation:?} | {seed} | {} |", violation.invariant),
                None => {
                    missed += 1;
                    println!("| {mutation:?} | **not seen** | |");
                }
            }
        }
        Ok(verdict(missed > 0))
    }

    fn scale(&self) -> Result<ExitCode, String> {
        let radix = self.number("--radix")?.unwrap_or(64);
        let most: u32 = self.number("--max")?.unwrap_or(10_000);
        let sizes = [1, 10, 100, 1_000, 10_000].into_iter().filter(|n| *n <= most);
        let rows: Vec<_> = sizes
            .flat_map(|n| if n == 1 { vec![(n, 1)] } else { vec![(n, 1), (n, n)] })
            .map(|(n, procs)| scale(n, radix, procs))
            .collect();
        print!("{}", scale_table(&rows));
        Ok(verdict(rows.iter().any(|r| r.trouble.is_some())))
    }
}

/// What the referee says of a planted fault in one scenario.
fn caught(mutation: Mutation, seed: u64) -> Option<Violation> {
    let scenario = Scenario { mutation: Some(mutation), ..Scenario::random(seed, None, None) };
    run(&scenario, Keep::Nothing, Referee::strict(&scenario)).violation
}

fn tell(seed: u64, report: &Report) {
    report.notices.iter().for_each(|n| println!("notice: {n}"));
    println!(
        "head exit {:?}, replies {:?}, {} events, {} us of virtual time",
        report.head_exit, report.replies, report.events, report.end
    );
    match &report.violation {
        None => println!("seed {seed}: all guarantees hold"),
        Some(violation) => {
            println!("seed {seed}: {violation}\nlast events:");
            report.lines.iter().for_each(|line| println!("  {line}"));
        }
    }
}

fn verdict(bad: bool) -> ExitCode {
    if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
