//! A date and time for templates, with the part of `strftime` that they use. The clock is the caller's.

use crate::error::{Error, Result};

/// A point in time as a calendar shows it; templates get it as "now".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    year: i32,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
}

static MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// The first of January 1970 was a Thursday.
static DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

impl Date {
    /// A day of the Gregorian calendar, at midnight.
    ///
    /// # Errors
    /// `invalid_argument` for a month or day that does not exist, and for years outside 1 to 9999.
    pub fn new(year: i32, month: u8, day: u8) -> Result<Self> {
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
            return Err(Error::invalid_argument(format!("{year:04}-{month:02}-{day:02} is not a date")));
        }
        Ok(Self { year, month, day, hour: 0, minute: 0, second: 0 })
    }

    /// The same day at this time.
    ///
    /// # Errors
    /// `invalid_argument` for hours above 23, minutes or seconds above 59.
    pub fn at(self, hour: u8, minute: u8, second: u8) -> Result<Self> {
        if hour > 23 || minute > 59 || second > 59 {
            return Err(Error::invalid_argument(format!("{hour:02}:{minute:02}:{second:02} is not a time of day")));
        }
        Ok(Self { hour, minute, second, ..self })
    }

    /// Days since the first of January 1970. Counts years from March on, so that the leap day is the last one.
    fn days_since_1970(self) -> i64 {
        let (month, year) = (i64::from(self.month), i64::from(self.year));
        let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
        let before_year = 365 * year + year / 4 - year / 100 + year / 400;
        let before_month = (153 * month + 2) / 5;
        before_year + before_month + i64::from(self.day) - 1 - 719_468
    }

    fn weekday(self) -> &'static str {
        DAYS[self.days_since_1970().rem_euclid(7) as usize]
    }

    /// The date as C's `strftime` writes it in the C locale. Unknown directives stay as they are.
    pub(super) fn format(self, format: &str) -> String {
        let mut out = String::with_capacity(format.len() * 2);
        let mut rest = format.chars();
        while let Some(c) = rest.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            match rest.next() {
                // Without leading zeros.
                Some('-') => match rest.next() {
                    Some(directive) => {
                        let padded = self.directive(directive);
                        let bare = padded.trim_start_matches(['0', ' ']);
                        out.push_str(if bare.is_empty() && !padded.is_empty() { "0" } else { bare });
                    }
                    None => out.push_str("%-"),
                },
                Some(directive) => out.push_str(&self.directive(directive)),
                None => out.push('%'),
            }
        }
        out
    }

    fn directive(self, directive: char) -> String {
        let Self { year, month, day, hour, minute, second } = self;
        let month_name = MONTHS[usize::from(month) - 1];
        let hour12 = if hour % 12 == 0 { 12 } else { hour % 12 };
        match directive {
            'Y' => format!("{year}"),
            'y' => format!("{:02}", year % 100),
            'm' => format!("{month:02}"),
            'B' => month_name.to_owned(),
            'b' | 'h' => month_name[..3].to_owned(),
            'd' => format!("{day:02}"),
            'e' => format!("{day:2}"),
            'j' => {
                let new_year = Self { month: 1, day: 1, ..self };
                format!("{:03}", self.days_since_1970() - new_year.days_since_1970() + 1)
            }
            'A' => self.weekday().to_owned(),
            'a' => self.weekday()[..3].to_owned(),
            'H' => format!("{hour:02}"),
            'I' => format!("{hour12:02}"),
            'M' => format!("{minute:02}"),
            'S' => format!("{second:02}"),
            'p' => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            'F' => format!("{year}-{month:02}-{day:02}"),
            'D' | 'x' => format!("{month:02}/{day:02}/{:02}", year % 100),
            'T' | 'X' => format!("{hour:02}:{minute:02}:{second:02}"),
            'R' => format!("{hour:02}:{minute:02}"),
            'n' => "\n".to_owned(),
            't' => "\t".to_owned(),
            '%' => "%".to_owned(),
            other => format!("%{other}"),
        }
    }
}

fn days_in(year: i32, month: u8) -> u8 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_as_strftime_does() {
        let date = Date::new(2024, 7, 6).and_then(|date| date.at(15, 4, 9)).expect("a date");
        for (format, expected) in [
            ("%d %b %Y", "06 Jul 2024"),
            ("%B %d, %Y", "July 06, 2024"),
            ("%A, %a %-d %e %j", "Saturday, Sat 6  6 188"),
            ("%Y-%m-%d %H:%M:%S", "2024-07-06 15:04:09"),
            ("%F %T %I %p %y", "2024-07-06 15:04:09 03 PM 24"),
            ("100%% %q %", "100% %q %"),
        ] {
            assert_eq!(date.format(format), expected);
        }
        assert_eq!(Date::new(2024, 1, 1).expect("a date").format("%-H:%-M"), "0:0");
    }

    #[test]
    fn weekdays_and_leap_years() {
        for (year, month, day, weekday) in
            [(1970, 1, 1, "Thursday"), (2000, 2, 29, "Tuesday"), (1900, 3, 1, "Thursday"), (2026, 11, 21, "Saturday")]
        {
            assert_eq!(Date::new(year, month, day).expect("a date").weekday(), weekday, "{year}-{month}-{day}");
        }
        for (year, month, day) in [(1900, 2, 29), (2023, 4, 31), (2023, 13, 1), (2023, 0, 1), (2023, 1, 0), (0, 1, 1)] {
            assert!(Date::new(year, month, day).is_err(), "{year}-{month}-{day}");
        }
        assert!(Date::new(2023, 1, 1).and_then(|date| date.at(24, 0, 0)).is_err());
    }
}
