//! The only random generator of a simulated world (xoshiro256**, seeded by splitmix64).
//!
//! Parts of the world that draw independently each get a [`Rng::fork`], so that one more draw in one
//! part does not reshuffle all others.

/// A seeded generator. Equal seeds give equal draws on every machine.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator from a seed; nearby seeds give unrelated draws.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        let mut mixer = seed;
        Rng { state: std::array::from_fn(|_| splitmix(&mut mixer)) }
    }

    /// An independent generator for one part of the world.
    pub fn fork(&mut self) -> Rng {
        Rng::new(self.next_u64())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let out = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        out
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        debug_assert!(low <= high, "an empty range has no number");
        let width = high.wrapping_sub(low).wrapping_add(1);
        if width == 0 {
            return self.next_u64();
        }
        // Multiply-shift: the bias for widths far below 2^64 does not matter to a simulation.
        let scaled = (u128::from(self.next_u64()) * u128::from(width)) >> 64;
        low + scaled as u64
    }

    /// True in so many of a thousand cases.
    pub fn permille(&mut self, chances: u64) -> bool {
        self.between(0, 999) < chances
    }

    /// One of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.between(0, items.len() as u64 - 1) as usize]
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_draws_and_another_seed_others() {
        let draws = |seed| {
            std::iter::repeat_with({
                let mut r = Rng::new(seed);
                move || r.next_u64()
            })
            .take(8)
            .collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_both_ends() {
        let mut rng = Rng::new(1);
        let drawn: std::collections::BTreeSet<u64> = (0..200).map(|_| rng.between(3, 6)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert_eq!(rng.between(9, 9), 9);
        assert!(!rng.permille(0) && rng.permille(1000));
    }
}
