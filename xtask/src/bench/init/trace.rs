//! The traces of one run, and what they say: where each rank was from the start of the command to its end.
//!
//! Pure: it reads text and computes. The programs that write the traces are `tests/programs/init_*.c`.

use std::str::FromStr;

use anyhow::{Context, Result, ensure};

/// A call of `PMIx_Get` that takes longer has left the process or has waited for a processor. Nanoseconds.
const SLOW: u64 = 200_000;
const NANOSECONDS_IN_MS: f64 = 1e6;

/// A call of a function by a rank. All times are nanoseconds; `entry` and `leave` are of one clock of the machine.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    name: String,
    entry: u64,
    leave: u64,
    /// Processor time of the rank meanwhile.
    cpu: u64,
}

impl Call {
    fn is_fence(&self) -> bool {
        ["PMIx_Fence", "PMIx_Fence_nb"].contains(&self.name.as_str())
    }
}

/// A moment of a rank: the time, and the processor time that it has had up to then, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Moment {
    time: u64,
    cpu: u64,
}

/// The trace of one rank.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rank {
    began: Moment,
    ended: Moment,
    init: Call,
    finalize: Call,
    /// Those of PMIx, in order of entry.
    calls: Vec<Call>,
}

impl FromStr for Rank {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (mut began, mut ended, mut init, mut finalize, mut calls) = (None, None, None, None, Vec::new());
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let broken = || format!("a trace has the line {line:?}");
            let number = |at: usize| -> Result<u64> {
                words.get(at).and_then(|word: &&str| word.parse().ok()).with_context(broken)
            };
            let moment = || -> Result<Moment> { Ok(Moment { time: number(1)?, cpu: number(2)? }) };
            match words.first() {
                Some(&"began") => began = Some(moment()?),
                Some(&"ended") => ended = Some(moment()?),
                Some(&"call") => {
                    let name = (*words.get(1).with_context(broken)?).to_owned();
                    let call = Call { name, entry: number(2)?, leave: number(3)?, cpu: number(4)? };
                    ensure!(call.entry <= call.leave, "{} has not returned", call.name);
                    match call.name.as_str() {
                        "MPI_Init" | "MPI_Init_thread" => init = Some(call),
                        "MPI_Finalize" => finalize = Some(call),
                        _ => calls.push(call),
                    }
                }
                _ => anyhow::bail!(broken()),
            }
        }
        calls.sort_by_key(|call| call.entry);
        Ok(Self {
            began: began.context("a trace has no beginning")?,
            ended: ended.context("a trace has no end")?,
            init: init.context("a rank has not called MPI_Init")?,
            finalize: finalize.context("a rank has not called MPI_Finalize")?,
            calls,
        })
    }
}

impl Rank {
    /// Processor time from its first instruction to its exit handlers.
    fn cpu(&self) -> u64 {
        self.ended.cpu.saturating_sub(self.began.cpu)
    }

    /// The part of it in PMIx_Init, in PMIx_Get and in other calls of PMIx. Fences have none: the rank looks for
    /// messages of MPI meanwhile.
    fn cpu_in_pmix(&self) -> [u64; 3] {
        let mut all = [0; 3];
        for call in &self.calls {
            let at = match call.name.as_str() {
                "PMIx_Init" => 0,
                "PMIx_Get" => 1,
                _ => 2,
            };
            all[at] += call.cpu;
        }
        all
    }

    /// All processor time of its process up to its exit handlers.
    pub(super) fn cpu_since_fork(&self) -> u64 {
        self.ended.cpu
    }

    fn gets(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.name == "PMIx_Get")
    }
}

/// The record of the launcher's command, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Command {
    start: u64,
    end: u64,
    /// When the last rank was gone.
    gone: u64,
    /// Processor time of all processes of this node that were started.
    pub(super) cpu: u64,
}

impl FromStr for Command {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers: Vec<u64> = text.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        let [start, end, gone, cpu] = numbers[..] else { anyhow::bail!("the command's trace is {text:?}") };
        ensure!((start..=end).contains(&gone), "a rank has outlived its launcher");
        Ok(Self { start, end, gone, cpu })
    }
}

/// Where a rank is at a time. Each moment of a command is in one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Launch,
    Loader,
    Connect,
    QuickGets,
    SlowGets,
    OtherCalls,
    FenceWait,
    Fence,
    Disconnect,
    RestOfInit,
    Program,
    RestOfFinalize,
    Exit,
    End,
}

impl Part {
    pub(super) const ALL: [Self; 14] = [
        Self::Launch,
        Self::Loader,
        Self::Connect,
        Self::QuickGets,
        Self::SlowGets,
        Self::OtherCalls,
        Self::FenceWait,
        Self::Fence,
        Self::Disconnect,
        Self::RestOfInit,
        Self::Program,
        Self::RestOfFinalize,
        Self::Exit,
        Self::End,
    ];

    /// A row's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch: from the command to the rank's first instruction",
            Self::Loader => "the rank's loader, until MPI_Init",
            Self::Connect => "PMIx_Init",
            Self::QuickGets => "PMIx_Get, calls of up to 0.2 ms",
            Self::SlowGets => "PMIx_Get, longer calls",
            Self::OtherCalls => "PMIx_Commit, and other calls of PMIx",
            Self::FenceWait => "fences, until the last rank has come",
            Self::Fence => "fences, from then on",
            Self::Disconnect => "PMIx_Finalize",
            Self::RestOfInit => "rest of MPI_Init",
            Self::Program => "two barriers of MPI",
            Self::RestOfFinalize => "rest of MPI_Finalize",
            Self::Exit => "exit, until the last rank is gone",
            Self::End => "end: from then to the end of the command",
        }
    }

    /// A column's name.
    pub(super) fn short(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Loader => "loader",
            Self::Connect => "PMIx_Init",
            Self::QuickGets => "quick Gets",
            Self::SlowGets => "slow Gets",
            Self::OtherCalls => "other PMIx",
            Self::FenceWait => "fences: wait",
            Self::Fence => "fences",
            Self::Disconnect => "PMIx_Finalize",
            Self::RestOfInit => "rest of Init",
            Self::Program => "barriers",
            Self::RestOfFinalize => "rest of Finalize",
            Self::Exit => "exit",
            Self::End => "end",
        }
    }

    /// True for what the launcher and its PMIx have to answer for.
    pub(super) fn is_launchers(self) -> bool {
        !matches!(
            self,
            Self::Loader | Self::FenceWait | Self::RestOfInit | Self::Program | Self::RestOfFinalize | Self::Exit
        )
    }

    /// The part of a call of PMIx that is no fence.
    fn of(call: &Call) -> Self {
        match call.name.as_str() {
            "PMIx_Init" => Self::Connect,
            "PMIx_Finalize" => Self::Disconnect,
            "PMIx_Get" if call.leave - call.entry > SLOW => Self::SlowGets,
            "PMIx_Get" => Self::QuickGets,
            _ => Self::OtherCalls,
        }
    }
}

/// The time in each part, in the order of [`Part::ALL`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Account([u64; Part::ALL.len()]);

impl Account {
    fn add(&mut self, part: Part, nanoseconds: u64) {
        self.0[part as usize] += nanoseconds;
    }

    pub(super) fn ms(&self, part: Part) -> f64 {
        self.0[part as usize] as f64 / NANOSECONDS_IN_MS
    }

    fn of(command: &Command, rank: &Rank, last: &[u64]) -> Self {
        let mut account = Self::default();
        account.add(Part::Launch, rank.began.time.saturating_sub(command.start));
        account.add(Part::Loader, rank.init.entry.saturating_sub(rank.began.time));
        account.add(Part::Program, rank.finalize.entry.saturating_sub(rank.init.leave));
        account.add(Part::Exit, command.gone.saturating_sub(rank.finalize.leave));
        account.add(Part::End, command.end - command.gone);
        for (window, rest) in [(&rank.init, Part::RestOfInit), (&rank.finalize, Part::RestOfFinalize)] {
            account.within(window, rest, rank, last);
        }
        account
    }

    /// Adds a call of MPI. Each of its moments counts once, although a fence can go on beside other calls: the call
    /// that was entered first has it.
    fn within(&mut self, window: &Call, rest: Part, rank: &Rank, last: &[u64]) {
        let mut at = window.entry;
        let mut fences = last.iter();
        for call in &rank.calls {
            let come = if call.is_fence() { fences.next().copied() } else { None };
            let (entry, leave) = (call.entry.max(at), call.leave.min(window.leave));
            if entry >= leave {
                continue;
            }
            self.add(rest, entry - at);
            match come {
                Some(come) => {
                    let come = come.clamp(entry, leave);
                    self.add(Part::FenceWait, come - entry);
                    self.add(Part::Fence, leave - come);
                }
                None => self.add(Part::of(call), leave - entry),
            }
            at = leave;
        }
        self.add(rest, window.leave - at);
    }
}

/// A fence of all ranks, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fence {
    /// From the first rank's arrival to the last one's.
    pub(super) arrivals: f64,
    /// From the last rank's arrival to a rank's return: the mean of the ranks.
    pub(super) mean: f64,
    /// The same of the rank that returns last.
    pub(super) last: f64,
}

/// For each fence, when the last rank has come to it. A fence of one rank is a fence of all.
fn arrivals(ranks: &[Rank]) -> Result<Vec<u64>> {
    let fences = |rank: &Rank| -> Vec<u64> { rank.calls.iter().filter(|c| c.is_fence()).map(|c| c.entry).collect() };
    let mut last: Vec<u64> = ranks.first().map(fences).unwrap_or_default();
    for rank in ranks {
        let entries = fences(rank);
        ensure!(entries.len() == last.len(), "ranks with {} and {} fences", last.len(), entries.len());
        last.iter_mut().zip(entries).for_each(|(last, entry)| *last = entry.max(*last));
    }
    Ok(last)
}

fn fences(ranks: &[Rank], last: &[u64]) -> Vec<Fence> {
    let each = |(at, come): (usize, &u64)| {
        let calls: Vec<&Call> = ranks.iter().filter_map(|r| r.calls.iter().filter(|c| c.is_fence()).nth(at)).collect();
        let first = calls.iter().map(|call| call.entry).min().unwrap_or(*come);
        let after: Vec<f64> =
            calls.iter().map(|call| call.leave.saturating_sub(*come) as f64 / NANOSECONDS_IN_MS).collect();
        Fence { arrivals: (come - first) as f64 / NANOSECONDS_IN_MS, mean: mean(&after), last: largest(&after) }
    };
    last.iter().enumerate().map(each).collect()
}

/// Processor time of a run on one node, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Processor {
    pub(super) all: f64,
    /// Of the ranks, in PMIx_Init, in PMIx_Get, and in other calls of PMIx.
    pub(super) pmix: [f64; 3],
    /// Of the ranks, outside of these calls and before their exit handlers.
    pub(super) rest: f64,
    /// Of the ranks' processes after their exit handlers.
    pub(super) exits: f64,
    /// What remains: the command, its daemons, and the start of the ranks' processes.
    pub(super) launcher: f64,
}

/// What the traces of one run say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    /// From the start of the command to its end, in milliseconds.
    pub(super) whole: f64,
    /// One for each rank.
    pub(super) accounts: Vec<Account>,
    pub(super) fences: Vec<Fence>,
    pub(super) processor: Processor,
    /// Calls of one rank, the mean of all: `PMIx_Get`, those of them that are slow, and others of PMIx.
    pub(super) calls: [f64; 3],
}

impl Run {
    /// `exit` is the processor time of a rank's process after its exit handlers, in nanoseconds.
    pub(super) fn of(command: &Command, ranks: &[Rank], exit: u64) -> Result<Self> {
        let last = arrivals(ranks)?;
        let ms = |nanoseconds: u64| nanoseconds as f64 / NANOSECONDS_IN_MS;
        let own: u64 = ranks.iter().map(Rank::cpu).sum();
        let pmix = [0, 1, 2].map(|at| ranks.iter().map(|rank| rank.cpu_in_pmix()[at]).sum::<u64>());
        let exits = exit * ranks.len() as u64;
        let processor = Processor {
            all: ms(command.cpu),
            pmix: pmix.map(ms),
            rest: ms(own.saturating_sub(pmix.iter().sum())),
            exits: ms(exits),
            launcher: ms(command.cpu.saturating_sub(own + exits)),
        };
        let slow = |rank: &Rank| rank.gets().filter(|call| Part::of(call) == Part::SlowGets).count();
        let count = |of: &dyn Fn(&Rank) -> usize| mean(&ranks.iter().map(|r| of(r) as f64).collect::<Vec<_>>());
        Ok(Self {
            whole: ms(command.end - command.start),
            accounts: ranks.iter().map(|rank| Account::of(command, rank, &last)).collect(),
            fences: fences(ranks, &last),
            processor,
            calls: [count(&|r| r.gets().count()), count(&slow), count(&|r| r.calls.len() - r.gets().count())],
        })
    }

    /// The time in a part: the mean of the ranks, in milliseconds.
    pub(super) fn mean(&self, part: Part) -> f64 {
        mean(&self.of_ranks(part))
    }

    /// The same of the rank that was there longest.
    pub(super) fn longest(&self, part: Part) -> f64 {
        largest(&self.of_ranks(part))
    }

    /// The sum of the launcher's parts: the mean of the ranks, in milliseconds.
    pub(super) fn launchers(&self) -> f64 {
        Part::ALL.into_iter().filter(|part| part.is_launchers()).map(|part| self.mean(part)).sum()
    }

    fn of_ranks(&self, part: Part) -> Vec<f64> {
        self.accounts.iter().map(|account| account.ms(part)).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// `None` without values.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank that begins at 10 ms, comes to its only fence at `fence` ms, and returns from it at 60 ms.
    fn rank(fence: u64) -> Rank {
        let text = format!(
            "call MPI_Init 20 80 0\ncall PMIx_Init 22 30 2\ncall PMIx_Get 30 31 1\ncall PMIx_Commit 32 33 1\n\
             call PMIx_Fence_nb {fence} 60 0\ncall MPI_Finalize 85 95 0\ncall PMIx_Finalize 90 94 1\n\
             began 10 1\nended 96 21\n"
        );
        in_ms(&text).parse().expect("a whole trace")
    }

    /// The numbers of a trace in nanoseconds.
    fn in_ms(text: &str) -> String {
        let word = |word: &str| word.parse::<u64>().map_or(word.to_owned(), |n| format!("{n}000000"));
        let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
        text.lines().map(|l| line(l) + "\n").collect()
    }

    fn command() -> Command {
        in_ms("command 0 100 97 60").parse().expect("a whole trace")
    }

    #[test]
    fn a_fence_is_the_launchers_from_the_last_arrival_on() {
        let run = Run::of(&command(), &[rank(40), rank(55)], 0).unwrap();
        assert_eq!(run.fences, [Fence { arrivals: 15.0, mean: 5.0, last: 5.0 }]);
        assert_eq!(run.accounts.iter().map(|a| a.ms(Part::FenceWait)).collect::<Vec<_>>(), [15.0, 0.0]);
        assert_eq!(run.accounts.iter().map(|a| a.ms(Part::Fence)).collect::<Vec<_>>(), [5.0, 5.0]);
        assert_eq!((run.mean(Part::FenceWait), run.longest(Part::FenceWait)), (7.5, 15.0));
    }

    #[test]
    fn the_parts_of_a_rank_add_up_to_the_whole() {
        let run = Run::of(&command(), &[rank(40), rank(55)], 0).unwrap();
        for account in &run.accounts {
            assert_eq!(Part::ALL.into_iter().map(|part| account.ms(part)).sum::<f64>(), run.whole);
        }
        let account = &run.accounts[0];
        let expected = [10.0, 10.0, 8.0, 0.0, 1.0, 1.0, 15.0, 5.0, 4.0, 30.0, 5.0, 6.0, 2.0, 3.0];
        assert_eq!(Part::ALL.map(|part| account.ms(part)), expected);
        assert_eq!(run.launchers(), 32.0);
        assert_eq!(run.calls, [1.0, 1.0, 4.0]);
    }

    #[test]
    fn a_moment_of_two_calls_counts_once() {
        let mut rank = rank(40);
        let get = |entry: u64, leave: u64| Call {
            name: "PMIx_Get".into(),
            entry: entry * 1_000_000,
            leave: leave * 1_000_000,
            cpu: 0,
        };
        // One within the fence, and one that begins in it.
        rank.calls.splice(4..4, [get(45, 50), get(58, 63)]);
        let run = Run::of(&command(), &[rank], 0).unwrap();
        assert_eq!(run.mean(Part::Fence) + run.mean(Part::FenceWait), 20.0);
        assert_eq!(run.mean(Part::SlowGets), 1.0 + 3.0);
        assert_eq!(Part::ALL.into_iter().map(|part| run.mean(part)).sum::<f64>(), 100.0);
    }

    #[test]
    fn processor_time_that_no_rank_had_is_the_launchers() {
        let run = Run::of(&command(), &[rank(40), rank(55)], 3_000_000).unwrap();
        let expected = Processor { all: 60.0, pmix: [4.0, 2.0, 4.0], rest: 30.0, exits: 6.0, launcher: 14.0 };
        assert_eq!(run.processor, expected);
    }

    #[test]
    fn ranks_with_other_fences_cannot_be_compared() {
        let mut other = rank(40);
        other.calls.retain(|call| !call.is_fence());
        let error = Run::of(&command(), &[rank(40), other], 0).unwrap_err();
        assert_eq!(error.to_string(), "ranks with 1 and 0 fences");
    }

    #[test]
    fn a_trace_with_holes_is_refused() {
        let refusal = |text: &str| text.parse::<Rank>().unwrap_err().to_string();
        let begin = "began 1 1\nended 9 2\n";
        assert_eq!(refusal(begin), "a rank has not called MPI_Init");
        assert_eq!(refusal(&format!("call PMIx_Fence_nb 5 0 0\n{begin}")), "PMIx_Fence_nb has not returned");
        assert_eq!(refusal("lost 7\n"), "a trace has the line \"lost 7\"");
        assert_eq!(refusal("call MPI_Init 5 x 0\n"), "a trace has the line \"call MPI_Init 5 x 0\"");
        let command = |text: &str| text.parse::<Command>().unwrap_err().to_string();
        assert_eq!(command("command 5 9 0 1"), "a rank has outlived its launcher");
        assert_eq!(command("command 5 9"), "the command's trace is \"command 5 9\"");
    }

    #[test]
    fn the_median_is_the_value_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([]), None);
    }
}
