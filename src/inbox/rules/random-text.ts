/**
 * How much likelier one letter of the alphabet follows another in words than by chance: a row for the first letter, a digit for
 * the second, 6 for as likely, 1.5 more for e times as likely. Counted in the words of the English documentation of two
 * thousand packages, and of messages in German, French, Spanish, Italian, Polish, Portuguese, Czech and Turkish.
 */
const FOLLOWS: readonly string[] = [
  '16772452625877161878554454',
  '73438244861843731774811261',
  '82528118646621921648611044',
  '84469333823534741564633252',
  '64775553534668364887454643',
  '81328710911623820756702261',
  '63439467811657641765732133',
  '92339212812544831647513041',
  '65766661213769752677251425',
  '80139004700234743394644200',
  '75549443822736741477634042',
  '83369332823733841256642071',
  '86249221821563782263521141',
  '73777583724435741378542043',
  '45673452535679560866756333',
  '82348234702743860857611231',
  '31221112411713122352911112',
  '83559452804455731677543153',
  '62638426714443763379723252',
  '72539337811433741766613162',
  '66657551643778370878231333',
  '91229131801323710332421131',
  '84348127812427740773413052',
  '73738404730453490559410352',
  '75647552634677790576436023',
  '83249044813446642143606065',
];
const AS_LIKELY = 6;
const FIRST_LETTER = 'a'.charCodeAt(0);

/** A part of a name begins with a capital, continues in small letters, and may end in digits. */
const SAME_CASE = 0.8;
const NEW_CAPITAL = -1.5;
const CAPITALS = -2.5;
const DIGIT_BEHIND_LETTER = -3;
const LETTER_BEHIND_DIGIT = -4;

/** A text of fewer characters says too little: `xfsprogs` is a name. */
const LEAST = 8;
/** Of 8,300 names in programs 11 are below, and of random texts of ten letters of both cases 95 in a hundred. */
const RANDOM = -4;
/** Words of another language than those counted must not be. */
const RANDOM_IN_ONE_CASE = -10;

/**
 * Tells an id made at random, such as `kQzXbLmPaR`, from a word or a name, such as `getUserById` or `ECONNREFUSED`.
 *
 * @param text - of letters and digits of ASCII, and the characters between them
 */
export function isRandom(text: string): boolean {
  if (text.length < LEAST) return false;
  const isMixed = /[a-z]/.test(text) && /[A-Z]/.test(text);
  let score = 0;
  for (let at = 1; at < text.length; at += 1) score += scoreOf(text[at - 1] ?? '', text[at] ?? '', isMixed);
  return score <= (isMixed ? RANDOM : RANDOM_IN_ONE_CASE);
}

/** Tells that a text is a word, or some in a row, which an id made at random seldom is. */
export function isWordy(text: string): boolean {
  if (!/^(?:[A-Za-z][a-z]{4,}|[A-Z]{5,})$/.test(text)) return false;
  let likelihood = 0;
  for (let at = 1; at < text.length; at += 1) likelihood += followed(text[at - 1] ?? '', text[at] ?? '');
  return likelihood > 0;
}

function scoreOf(one: string, next: string, isMixed: boolean): number {
  if (isDigit(next)) return isLetter(one) ? DIGIT_BEHIND_LETTER : 0;
  if (isDigit(one)) return isLetter(next) ? LETTER_BEHIND_DIGIT : 0;
  if (!isLetter(one) || !isLetter(next)) return 0;
  if (isCapital(next) && !isCapital(one)) return NEW_CAPITAL;
  const shape = isCapital(next) ? CAPITALS : SAME_CASE;
  return followed(one, next) + (isMixed ? shape : 0);
}

function followed(one: string, next: string): number {
  const row = FOLLOWS[one.toLowerCase().charCodeAt(0) - FIRST_LETTER];
  return Number(row?.[next.toLowerCase().charCodeAt(0) - FIRST_LETTER] ?? AS_LIKELY) - AS_LIKELY;
}

function isDigit(character: string): boolean {
  return character >= '0' && character <= '9';
}

function isCapital(character: string): boolean {
  return character >= 'A' && character <= 'Z';
}

function isLetter(character: string): boolean {
  return isCapital(character) || (character >= 'a' && character <= 'z');
}
