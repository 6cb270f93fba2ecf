//! Packed names of nodes: the texts that many names share, and the numbers between them. [`super::packed`] uses it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::column::{Column, Malformed};

/// The most digits of a number; longer ones, which may exceed 32 bits, stay text.
const MAX_DIGITS: usize = 9;

/// The most numbers in one name; further ones stay text.
const MAX_NUMBERS: usize = 128;

/// Packed names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Names {
    shapes: Vec<Shape>,
    /// The shape of each name.
    shape: Column,
    /// The first number of each name, the second, ...; 0 where a name has fewer.
    numbers: Vec<Column>,
}

/// The texts that many names share.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Shape {
    /// The text before each number, and the number's least count of digits.
    before: Vec<(String, u8)>,
    end: String,
}

impl Names {
    pub(super) fn pack<'a>(names: impl Iterator<Item = &'a str>) -> Names {
        let mut palette = Palette::default();
        let parts: Vec<(u32, Vec<u32>)> = names
            .map(|name| {
                let (shape, numbers) = take_apart(name);
                (palette.place(shape), numbers)
            })
            .collect();
        let most = parts.iter().map(|(_, numbers)| numbers.len()).max().unwrap_or(0);
        let number = |at: usize| parts.iter().map(move |(_, numbers)| numbers.get(at).copied().unwrap_or(0));
        Names {
            shapes: palette.values,
            shape: Column::pack(parts.iter().map(|(shape, _)| *shape)),
            numbers: (0..most).map(|at| Column::pack(number(at))).collect(),
        }
    }

    pub(super) fn unpack(&self, count: usize) -> Result<Vec<String>, Malformed> {
        if self.numbers.len() > MAX_NUMBERS {
            return Err(Malformed);
        }
        let numbers: Vec<Vec<u32>> =
            self.numbers.iter().map(|column| column.unpack(count)).collect::<Result<_, _>>()?;
        let name = |(at, shape): (usize, u32)| {
            let shape = self.shapes.get(shape as usize).ok_or(Malformed)?;
            shape.put_together(numbers.iter().map(|column| column[at]))
        };
        self.shape.unpack(count)?.into_iter().enumerate().map(name).collect()
    }
}

impl Shape {
    fn put_together(&self, mut numbers: impl Iterator<Item = u32>) -> Result<String, Malformed> {
        let texts: usize = self.before.iter().map(|(text, _)| text.len() + MAX_DIGITS).sum();
        let mut name = String::with_capacity(texts + self.end.len());
        for (text, width) in &self.before {
            if usize::from(*width) > MAX_DIGITS {
                return Err(Malformed);
            }
            name.push_str(text);
            push_number(&mut name, numbers.next().ok_or(Malformed)?, *width);
        }
        name.push_str(&self.end);
        Ok(name)
    }
}

/// Appends a number. Every daemon of a job puts thousands of names together, and `std` formatting would dominate the
/// time.
fn push_number(name: &mut String, number: u32, width: u8) {
    let digits = number.checked_ilog10().map_or(1, |log| log + 1);
    for place in (0..digits.max(width.into())).rev() {
        let digit = 10u32.checked_pow(place).map_or(0, |power| number / power % 10);
        name.push(char::from(b'0' + digit as u8));
    }
}

fn take_apart(name: &str) -> (Shape, Vec<u32>) {
    let mut shape = Shape::default();
    let mut numbers = Vec::new();
    let mut rest = name;
    while numbers.len() < MAX_NUMBERS
        && let Some(start) = rest.find(|c: char| c.is_ascii_digit())
    {
        let (text, from) = rest.split_at(start);
        let digits = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (digits, behind) = from.split_at(digits);
        rest = behind;
        match digits.parse() {
            Ok(number) if digits.len() <= MAX_DIGITS => {
                // A leading zero means a fixed width; without one the number determines its digits.
                let width = if digits.len() > 1 && digits.starts_with('0') { digits.len() as u8 } else { 0 };
                shape.before.push((std::mem::take(&mut shape.end) + text, width));
                numbers.push(number);
            }
            _ => {
                shape.end.push_str(text);
                shape.end.push_str(digits);
            }
        }
    }
    shape.end.push_str(rest);
    (shape, numbers)
}

/// Repeated values, each once, in the order of their first occurrence.
#[derive(Debug)]
pub(super) struct Palette<T> {
    pub(super) values: Vec<T>,
    places: BTreeMap<T, u32>,
}

impl<T> Default for Palette<T> {
    fn default() -> Self {
        Palette { values: Vec::new(), places: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> Palette<T> {
    /// The position of a value, which is added when it is new.
    pub(super) fn place(&mut self, value: T) -> u32 {
        if let Some(place) = self.places.get(&value) {
            return *place;
        }
        let place = self.values.len() as u32;
        self.values.push(value.clone());
        self.places.insert(value, place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(names: &[&str]) -> Names {
        let packed = Names::pack(names.iter().copied());
        assert_eq!(packed.unpack(names.len()), Ok(names.iter().map(|&n| n.to_owned()).collect()));
        packed
    }

    #[test]
    fn names_come_back_to_the_letter() {
        packed(&[]);
        packed(&["", "0", "00", "a0b00c", "n-007.cluster", "n7", "n4294967295", "n000000001", "n0000000001", "é1ü"]);
    }

    #[test]
    fn a_name_of_numbers_is_a_name() {
        packed(&["1.".repeat(200).as_str(), "n1"]);
    }

    #[test]
    fn numbered_names_have_one_shape() {
        let names: Vec<String> = (0..20_000).map(|i| format!("rack{}-n{i:05}.example.org", i / 100)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // With and without a leading zero.
        assert_eq!(packed(&names).shapes.len(), 2);
    }

    #[test]
    fn a_shape_that_is_not_there_and_a_number_too_few_are_refused() {
        let mut names = Names::pack(["n1", "n2"].into_iter());
        names.numbers.clear();
        assert_eq!(names.unpack(2), Err(Malformed));
        let mut names = Names::pack(["n1", "n2"].into_iter());
        names.shapes.clear();
        assert_eq!(names.unpack(2), Err(Malformed));
    }
}
