//! Input and output under load: nothing lost, nothing mixed, and memory that stays flat.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::context::{Context, Expect, finish};
use super::{Scenario, scenarios};
use crate::programs::plain_program;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_gigabyte_of_standard_input_comes_back_equal_with_flat_memory,
        sixty_four_chatty_ranks_do_not_mix_their_lines,
        a_slow_reader_slows_the_writers_and_costs_no_memory,
        a_reader_that_goes_away_ends_the_job,
        standard_input_goes_to_rank_zero_alone,
        an_unfinished_last_line_is_not_lost,
    ]
}

/// Memory that the launcher or a daemon may need for any amount of data (bytes).
const FLAT_BYTES: u64 = 64 << 20;

const BLOCK: usize = 1 << 20;

/// Block `index` of a stream in which no two blocks are equal.
fn fill(block: &mut [u8], index: u64) {
    block[..8].copy_from_slice(&index.to_le_bytes());
}

/// Bytes without a pattern; the seed is fixed, so that a failure repeats.
fn noise() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..BLOCK).map(|_| next()).collect()
}

/// Watches the memory of all `prterun` and `prted` until told to stop; returns the highest resident size.
fn peak_memory(c: &Context, stop: &AtomicBool, peak: &AtomicU64) {
    while !stop.load(Ordering::Relaxed) {
        for name in ["prterun", "prted"] {
            for (_, process) in c.named(name) {
                peak.fetch_max(process.resident_bytes().unwrap_or(0), Ordering::Relaxed);
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn a_gigabyte_of_standard_input_comes_back_equal_with_flat_memory(c: &Context) -> Result<()> {
    let blocks: u64 = if c.is_quick() { 64 } else { 1024 };
    let mut running = c.prterun("--host n1 -n 1 cat")?.with_stdin().start_unread()?;
    let mut input = running.child().stdin.take().context("no stdin")?;
    let mut output = running.child().stdout.take().context("no stdout")?;
    let (stop, peak) = (AtomicBool::new(false), AtomicU64::new(0));
    let checked: Result<()> = std::thread::scope(|scope| {
        scope.spawn(|| peak_memory(c, &stop, &peak));
        let writer = scope.spawn(move || -> std::io::Result<()> {
            let mut block = noise();
            for index in 0..blocks {
                fill(&mut block, index);
                input.write_all(&block)?;
            }
            Ok(())
        });
        let result = compare(&mut output, blocks);
        stop.store(true, Ordering::Relaxed);
        // After an error the reader closes the pipe, so that the writer does not wait.
        drop(output);
        let written = writer.join();
        result?;
        written.map_err(|_| anyhow::anyhow!("the writer panicked"))?.context("prterun stopped reading")
    });
    let outcome = finish(running);
    checked?;
    outcome?.code(0)?;
    let peak = peak.into_inner();
    ensure!(peak < FLAT_BYTES, "memory grew to {} MB", peak >> 20);
    Ok(())
}

/// Reads exactly `blocks` blocks and then the end.
fn compare(output: &mut impl Read, blocks: u64) -> Result<()> {
    let (mut expected, mut got) = (noise(), vec![0; BLOCK]);
    for index in 0..blocks {
        fill(&mut expected, index);
        output.read_exact(&mut got).with_context(|| format!("the output ends within megabyte {index}"))?;
        ensure!(got == expected, "megabyte {index} differs");
    }
    ensure!(output.read(&mut got)? == 0, "there is more output than input");
    Ok(())
}

/// Checks lines as tests/programs/chatty.c writes them: all there, whole, and in order for each rank.
#[derive(Default)]
struct ChattyCheck {
    next: BTreeMap<String, u64>,
}

impl ChattyCheck {
    fn line(&mut self, line: &str) -> Result<()> {
        let shown = || line.chars().take(80).collect::<String>();
        let mut words = line.split(' ');
        let (Some(id), Some(number), Some(letters), Some("end"), None) =
            (words.next(), words.next(), words.next(), words.next(), words.next())
        else {
            bail!("a mixed or broken line: {}", shown());
        };
        let number: u64 = number.parse().with_context(|| format!("a mixed or broken line: {}", shown()))?;
        let letter = b'a' + (number % 26) as u8;
        let whole = letters.len() as u64 == number % 1000 && letters.bytes().all(|b| b == letter);
        ensure!(whole, "a mixed or broken line: {}", shown());
        let next = self.next.entry(id.to_owned()).or_default();
        ensure!(*next == number, "rank {id}: line {number} where {next} should be");
        *next += 1;
        Ok(())
    }

    fn finish(&self, ranks: usize, lines: u64) -> Result<()> {
        ensure!(self.next.len() == ranks, "{} ranks wrote, not {ranks}", self.next.len());
        for (id, count) in &self.next {
            ensure!(*count == lines, "rank {id}: {count} lines instead of {lines}");
        }
        Ok(())
    }
}

fn sixty_four_chatty_ranks_do_not_mix_their_lines(c: &Context) -> Result<()> {
    let lines = if c.is_quick() { 200 } else { 1000 };
    let job = c.everywhere(16, "-n 64 --bind-to none")?.program(&plain_program("chatty")?)?;
    let outcome = job.words(["-".to_owned(), lines.to_string()])?.run()?.code(0)?;
    let mut check = ChattyCheck::default();
    outcome.stdout.lines().try_for_each(|line| check.line(line))?;
    check.finish(64, lines)
}

fn a_slow_reader_slows_the_writers_and_costs_no_memory(c: &Context) -> Result<()> {
    let lines = if c.is_quick() { 50_000 } else { 200_000 };
    let job = c.everywhere(1, "-n 4")?.program(&plain_program("chatty")?)?;
    let mut running = job.words(["-".to_owned(), lines.to_string()])?.start_unread()?;
    let output = running.child().stdout.take().context("no stdout")?;
    c.wait_for(4, "chatty")?;
    let stop = Arc::new(AtomicBool::new(false));
    let peak = AtomicU64::new(0);
    let checked: Result<()> = std::thread::scope(|scope| {
        scope.spawn(|| peak_memory(c, &stop, &peak));
        std::thread::sleep(Duration::from_secs(2));
        let result = (|| {
            ensure!(c.named("chatty").len() == 4, "the writers did not wait for the reader");
            let mut check = ChattyCheck::default();
            for line in BufReader::new(output).lines() {
                check.line(&line?)?;
            }
            check.finish(4, lines)
        })();
        stop.store(true, Ordering::Relaxed);
        result
    });
    let outcome = finish(running);
    checked?;
    outcome?.code(0)?;
    let peak = peak.into_inner();
    ensure!(peak < FLAT_BYTES, "memory grew to {} MB", peak >> 20);
    Ok(())
}

fn a_reader_that_goes_away_ends_the_job(c: &Context) -> Result<()> {
    let mut running = c.everywhere(1, "-n 4 yes")?.start_unread()?;
    let mut output = running.child().stdout.take().context("no stdout")?;
    output.read_exact(&mut [0; 1000])?;
    drop(output);
    finish(running)?.failure()?;
    Ok(())
}

fn standard_input_goes_to_rank_zero_alone(c: &Context) -> Result<()> {
    let mut running = c.everywhere(1, "-n 4 sh -c")?.words(["echo $PMIX_RANK $(wc -c)"])?.with_stdin().start()?;
    running.child().stdin.take().context("no stdin")?.write_all(b"twelve bytes")?;
    finish(running)?.code(0)?.lines(&["0 12", "1 0", "2 0", "3 0"].map(String::from))?;
    Ok(())
}

fn an_unfinished_last_line_is_not_lost(c: &Context) -> Result<()> {
    let outcome = c.prterun("--host n1 -n 1 printf no-newline")?.run()?.code(0)?;
    ensure!(outcome.stdout.trim_end() == "no-newline", "got {:?}", outcome.stdout);
    Ok(())
}
