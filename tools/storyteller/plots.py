"""The plots: each is a list of beats, each beat a choice of lines. `?` marks a beat that may be left out, `¶` starts
a paragraph. Beats in capitals (`FIND`, `WONDER`, …) are the shared ones of phrases.py. See there for the language.
"""

OWNER = ["OPEN", "?TRAIT", "¶FIND", "WONDER", """
"[Somebody must be missing it|Somebody has lost it]," {he} thought. "I will [find out who|bring it back]."
{h} would have loved to keep it. But {he} thought: "Somebody must be sad without it."
"It is not mine," said {h}. "I must find out whose it is."
{h} wanted to take it home, but then {he} thought of the one who had lost it.
""", """
¶First {he} asked {g}. "Is this your {o_noun}?" But {g} shook {ghis} head.
¶So {he} {mv} to {g}. "Did you lose {a_o}?" asked {h}. "{not_mine}" said {g}. "[Ask down by the gate|Go and ask the \
others]!"
¶{h} met {g} and held up {the_o}. "{not_mine}" said {g}. "But somebody was looking for something over there."
¶{h} asked everyone {he} met. {G} shook {ghis} head, and nobody else knew anything about it.
""", """
[Then|At last] {he} met {a_f}, who was looking [behind every stone|under every bush]. "I have lost my {o_noun}!" {f} \
cried.
[Then|Near the end of the path] {he} heard somebody crying. It was {a_f}. "My {o_noun} is gone," {fhe} said.
In the evening {h} came to the house of {a_f}. {F} sat by the door and looked very sad. "What is wrong?" asked {h}. "I \
lost my \
{o_adj_noun}," said {f}.
[At last|Finally], {he} found {a_f}, who had searched all day. "It was a present from my grandmother," said {f} \
[sadly|softly].
""", """
"Is it this one?" asked {h}. {F} {fglad}. "Yes! Oh, thank you!"
{h} held out {the_o}, and {f} {fglad}. "You found it!" {fhe} cried.
{h} smiled. "Close your eyes and hold out your hand," {he} said. When {f} opened {fhis} eyes, there was {the_o}.
"Then I have good news," said {h}, and {he} gave {f} {the_o}. {F} {fglad}.
""", """
"How can I thank you?" asked {f}. "[You just did|Be my friend|Tell me a story]," said {h}. {end_friend}
To say thank you, {f} made {dish} for two. {end_friend}
"You could have kept it," said {f}. "I know," said {h}, "but then you would still be sad." {end_friend}
{h} went home with empty hands and a full heart. {end_friend}
"Whenever you need {the_o}, you may borrow it," said {f}. {end_friend}
"""]

USE = ["OPEN", "?TRAIT", "¶FIND", "WONDER", """
{try_it}
{try_it} "What are you good for?" {he} asked.
"What can I do with it?" {he} thought. {try_it}
"You will be good for something," said {h}, and {he} took {the_o} home.
"Keep it," said {g}. "One day you will need it." So {h} took it along.
{G} laughed when {ghe} saw it. "What do you want with {a_o}?" {h} did not know yet.
""", "¶{use_trouble}", """
{h} [did not wait|thought quickly|knew at once what to do]. {use_solve}
{h} remembered {the_o}. {use_solve}
{h} had an idea. {use_solve}
{h} did not think twice. {use_solve}
{use_solve}
""", """
¶"Thank you," said {f}. "[What would I have done without you?|I will never forget this.|You came just in time.|You are \
a real friend.]"
¶"What a clever {kind} you are!" said {f}.
¶{F} {fglad}. "You are a true friend," {fhe} said.
¶"Now I know what {the_o} is for," said {h} and {glad}.
""", "MORAL"]

LOCK = ["OPEN", "?TRAIT", "¶FIND", "WONDER", """
"{A_o} needs a lock," {he} thought. "I will find it."
"Somewhere there must be a door for it," said {h}, and off {he} {mv}.
{h} tied {the_o} to a string and began to look for its lock.
"Let us see what you open," said {h} to {the_o}.
""", """
¶{He} tried the {no_lock}, but {the_o} was too [big|small]. {He} tried the {no_lock2}, but it did not fit.
¶First {h} tried the {no_lock}. It did not turn. Then {he} tried the {no_lock2}. Nothing happened.
¶{h} asked {g}. "I know every lock {place_at}," said {g}, "and this {o_noun} fits none of them."
¶"Try the {no_lock}," said {g}. But {the_o} did not fit. {h} {sad}, but {he} did not give up.
""", """
Then, {lock_spot}, {he} found {lock}. {The_o} slid in. Click!
At last, {lock_spot}, {h} saw {lock}. {He} held {his} breath and turned {the_o}. It opened!
Just when {he} wanted to go home, {h} saw {lock} {lock_spot}. {The_o} fitted perfectly.
{A_f} had watched {him} all day. "Come with me," said {f}, and showed {him} {lock} {lock_spot}. Slowly, {h} turned \
{the_o}.
""", """
Inside was {treasure}.
{h} could not believe {his} eyes. There was {treasure}!
It smelled of dust and old days. And there, in the middle, was {treasure}.
Inside there was no gold and no silver. There was {treasure}.
""", """
¶"This is better than gold," said {h}. {keep}
¶{h} called everyone together, because such a thing is best when it is shared. {keep}
¶"Now I know why I found you," said {h} to {the_o}. {good_night}
¶{h} and {f} spent the whole afternoon there. And the next day they came back, and the day after that.
¶{h} {glad}. Some doors, {he} thought, only wait for someone who does not give up.
¶And {the_o}? {h} put it back {spot}, so that somebody else could find it one day.
"""]

LOST = ["OPEN", """
{His} [greatest treasure|favourite thing] was {a_o}. {He} took it everywhere.
{He} had {a_o}, and {he} loved it more than anything.
{h} owned only one thing: {a_o}, a present from {his} grandmother.
Every day {h} played with {his} {o_adj_noun}, and every night it lay beside {him}.
""", """
¶{Day} {the_o} was gone. {h} looked {search}, but it was not there.
¶{Day} {h} woke up and could not find {his} {o_adj_noun}. {He} looked {search}. Nothing!
¶{Day} {h} came home and noticed that {the_o} was missing. {He} {sad}.
¶But {day_lower} {h} lost {his} {o_adj_noun}. {He} looked {search} and {search2}, but it was nowhere.
¶"Oh no!" cried {h}. "My {o_noun} is gone!" {He} looked {search}.
""", """
"Have you seen my {o_noun}?" {he} asked {g}. "No," said {g}, "but I will help you look."
{G} came by. "Why are you so sad?" asked {g}. "I have lost {the_o}," said {h}. "Then let us look together."
{He} asked {g}, who had not seen it. "[Where did you have it last|When did you see it last]?" asked {g}.
"Think," said {g}. "Where were you yesterday?" {h} {think}.
""", """
¶They looked {search2}. They looked {search}. They found [an old shoe|a lost ball|three buttons|a sleeping snail], but \
no {o_noun}.
¶They went back the whole way, step by step, and looked behind every stone.
¶{h} almost gave up. "It is only {a_o}," {he} said, but a tear ran down {his} cheek.
¶All day they searched. The sun went down, and still there was no {o_noun}.
""", """
{lost_found}
Then {g} gave a shout. {lost_found}
And then {h} heard something. {lost_found}
""", """
¶"[You can have it back|Here it is]," said {f}. "{lost_reason}" {h} {glad}.
¶"Is it yours?" said {f}, and gave it back. "{lost_reason}" {h} was so happy that {he} hugged them all.
¶{F} looked down. "{lost_reason}" {h} was not angry. "We can share it," {he} said.
""", """
From that day on, {h} took good care of {his} {o_noun}. {good_night}
That night, {the_o} lay beside {him} again. {good_night}
{h} had {his} {o_noun} back, and a new friend too. {end_friend}
And what did {h} learn? That looking is much easier with friends. {end_friend}
"I was looking for {the_o}," said {h}, "and I found you." {end_friend}
"""]

LEARN = ["OPEN", """
{h} had one wish: {he} wanted to learn to {skill}.
More than anything, {h} wanted to {skill}.
Everyone else could do it, but {h} could not {skill}. {He} wished for it every night.
"One day I will {skill}," {h} said every morning.
{h} dreamed of only one thing. {He} wanted to {skill}.
""", """
¶{Day} {he} tried it alone. [It went wrong|It was a disaster]. {fail}
¶{Day} {h} began to practise. {fail}
¶{Day} {h} tried for the first time. {fail} {G} [laughed|giggled]. "{a_kind} cannot {skill}!" said {g}.
¶{Day} {he} began. "It cannot be so hard," {he} thought. But it was. {fail}
""", """
{h} {sad}. "I will never learn it," {he} said.
"Perhaps I am too [small|clumsy|slow|old|young]," {he} thought, and {he} {sad}.
{h} wanted to give up. {He} sat down and sighed.
But {h} did not cry. {He} stood up and tried again, and again it went wrong.
""", """
¶Then {a_f} came by. "[Nobody can do it the first time|I also fell down a hundred times]," {fhe} said. "Let me show \
you."
¶{A_f} had seen it all. "Do you know the secret?" asked {f}. "Begin small, and begin every day."
¶So {he} went to {a_f}, who could {skill} better than anyone. "Will you teach me?" asked {h}. "With joy," said {f}.
¶"You are trying too hard," said a voice. It was {a_f}. "Close your eyes, breathe, and [smile|start slowly]."
""", """
They practised on Monday and Tuesday. They practised in sun and rain. And on Sunday it worked!
Every day they practised a little. The first day was bad, the second was better, and the [seventh|tenth] was good.
{h} practised in the morning, at noon and at night. Slowly, very slowly, it got better.
So they worked together until the moon came up. And suddenly {h} could do it!
""", """
¶At the [summer|spring|autumn|village] party, {h} showed everyone how {he} could {skill}. Even {g} clapped.
¶"Look at me!" called {h}. [Everyone|All the neighbours] came running. {h} could {skill}!
¶The next time {g} came by, {ghe} could not believe {ghis} eyes. "You can {skill}!" said {g}. "Will you teach me?"
¶And so {h} learned to {skill}. {He} {glad}, and {f} was very proud.
""", """
"I knew it," said {f}. "[All you needed was time|You only had to believe it]." {end_friend}
And now, when somebody says, "I cannot do it," {h} smiles and says, "Not yet."
{good_night} In {his} dream {he} could {skill} all night long.
From then on, {h} helped all the little ones who wanted to {skill}.
It was not perfect, but it was {his} own, and that was the best part.
"""]

FEAR = ["OPEN", """
But {h} had a secret: {he} was afraid of {fear}.
There was only one thing that {h} did not like. {He} was afraid of {fear}.
{h} was afraid of {fear}. Whenever {he} thought about that, {his} knees began to shake.
Everyone thought that {h} was [brave|bold], but {he} was terribly afraid of {fear}.
""", """
¶{G} {glaughed} about it. "Who is afraid of {fear}?" {ghe} asked. {h} {sad}.
¶"One day it will go away," said {g}. But it did not go away.
¶When the others went out, {h} stayed [at home|in bed|behind the door]. "Maybe tomorrow," {he} said each time.
¶{He} had tried everything: [counting to ten|singing loudly|closing {his} eyes|holding {his} breath]. Nothing helped.
""", """
¶{Day} {fear_event}. And {f} was out there, all alone!
¶Then, {day_lower} {fear_event}. "Help!" cried {f}. Nobody else heard it.
¶But {day_lower} {fear_event}. {F} needed help, and only {h} was near.
¶{Day} {h} was with {f} when {fear_event}. {F} {fsad}.
""", """
{h} shook from head to toe. But {he} thought of {f}, and took one step, and then another.
{h} wanted to hide. "If I hide," {he} thought, "who will help {f}?" So {he} went.
"I am afraid," said {h}. "But I am coming!" And off {he} {mv}.
{His} heart beat like a drum. {He} took a deep breath and {mv} to {f}.
""", """
{fear_act}
{h} did not look left or right. {fear_act}
"Take my hand," said {h}. {fear_act}
{fear_act} "We did it," whispered {h}.
""", """
¶"You saved me," said {f}. "Were you not afraid?" "I was," said {h}. "But I came anyway."
¶"How brave you are!" said {f}. {h} {think}. "I was afraid all the time," {he} said. "That is what brave means," said \
{f}.
¶Only then did {h} notice something. {He} was not afraid of {fear} any more, or only a very little.
¶{F} {fglad}. "I was afraid too," {fhe} said. "With you it was only half as bad."
""", """
{good_night} And {fear}? {He} hardly thought of it.
From that day on, {h} still did not love {fear}, but {he} never ran away again.
And when little {fkind}s are afraid of {fear}, {h} tells them this story.
"Goodbye, fear," said {h}, and {he} {glad}. {end_friend}
{end_friend} Even {fear} could not change that.
"""]

FRIEND = ["OPEN", """
{h} had no one to play with, and {he} often felt lonely.
{His} house was warm and {his} plate was full, but {h} had no friend.
{h} talked to the [moon|wind|stones], but the [moon|wind|stones] never answered.
Every day {h} {saw_friends}, and {he} wished for a friend of {his} own.
""", """
¶{Day} {a_f} moved in next door. {h} looked through the window, but {he} was too shy to say hello.
¶{Day} {a_f} came down the path with a heavy bag. "Is there a place to rest here?" {fhe} asked.
¶{Day} {h} heard somebody crying. {Spot} sat {a_f}.
¶{Day} {a_f} got lost in the rain and knocked at {his} door.
¶{Day} {h} {mv} further than ever before. There {he} met {a_f}, who was sitting alone too.
""", """
"{hello}," said {h}. "{hello2}," said {f}. Then nobody knew what to say.
"Who are you?" asked {h}. "I am {fname_or_kind}," said {f}. "And I am all alone."
At first both of them were shy. {h} {think}. {F} looked at {fhis} feet.
"Please come in," said {h}. "You can [sit by the fire|rest here|have some of my {food}]."
""", """
{friend_diff}
¶They were very different. {friend_diff}
¶"Do you like {food}?" asked {h}. "I have never tried it," said {f}. They tried it together, and both of them laughed.
¶"Can you {gift}?" asked {f}. "Of course," said {h}, and {he} showed {fhim} how. {F} clapped.
""", """
They played [hide and seek|tag|pirates|guess the cloud] until the sun went down.
They told each other [stories|jokes|secrets], and the afternoon was over in a wink.
Together they built [a house of leaves|a tiny boat|a bench for two|a swing], and it was just right for two.
That day they ate {dish}, climbed the hill, and counted the clouds.
""", """
¶"May I come back tomorrow?" asked {f}. {h} {glad}. "{Yes}," {he} said.
¶When it got dark, {f} had to go home. "I will see you tomorrow," {fhe} said, and {fhe} kept {fhis} word.
¶"I was looking for a house," said {f}, "and I found a friend."
¶{h} looked at the moon that night. "I do not need to talk to you tonight," {he} said. "I have a friend now."
""", "END_FRIEND"]

SHARE = ["OPEN", """
{Day} {h} got {a_o}. It was the best {o_noun} {he} had ever seen.
{Day} {his} grandmother gave {h} {a_o}. "Use it well," she said.
{h} had {a_o}, and {he} was very proud of it.
{Day} {h} found {a_o} {spot}. "It is all mine," {he} said.
""", """
¶"May I have a turn?" asked {f}. "No," said {h}. "It is mine!"
¶{F} came by. "What a lovely {o_noun}!" said {f}. "Can we share it?" But {h} shook {his} head.
¶{A_f} asked to see it, but {h} hid {the_o} behind {his} back.
""", """
{F} {fsad} and went away. {g} asked too, and {g} went away too.
So {f} went to play with {g}, and {h} stayed alone with {the_o}.
"All right," said {f} quietly, and {fhe} went home.
""", """
¶{h} sat down with {the_o}. But [it was boring|it was no fun alone|something was missing]. From far away {he} heard \
the others laugh.
¶At first {h} was happy. But after a while {the_o} did not seem so nice any more.
¶That night, {h} could not sleep. {The_o} lay beside {him}, but {he} felt cold inside.
¶An hour went by, and then another. Nobody came. {h} looked at {the_o} and {sad}.
""", """
"What good is {a_o} without a friend?" {he} thought. And {he} {mv} to {f}.
{h} {think}. Then {he} stood up, took {the_o} and {mv} to the house of {f}.
In the morning {h} knocked at the door of {f}. "I am sorry," {he} said. "I was not nice."
"I was wrong," {h} said to {himself}. {He} picked up {the_o} and ran to find {f}.
""", """
¶"Do you still want to share it?" asked {h}. {F} {fglad}. "{Yes}!" {fhe} said.
¶"This is for both of us," said {h}. {F} smiled, and everything was good again.
¶"Come," said {h}, "{the_o} is big enough for all of us." {F} came, and {g} came too.
""", """
Together they had more fun than {h} had ever had alone. {keep}
And suddenly {the_o} was twice as nice as before. {end_friend}
From that day on, {h} knew: [the best things grow when you share them|a shared joy is a double joy]. {keep}
They laughed so much that {h} forgot whose {o_noun} it was. {end_friend}
"""]

GIFT = ["OPEN", """
{F_full} was {his} best friend, and tomorrow was {fhis} birthday.
{h} had a good friend, {a_f}. {Fhis} birthday was near, and {h} had no present.
{Day} {h} remembered that it was the birthday of {f}. And {he} had no present!
""", """
¶"What does {f} like?" thought {h}. "I know! {A_o}!" So {he} began to look for one.
¶{h} wanted to give {fhim} {a_o}. {He} looked everywhere, and at last {he} found one {spot}.
¶{h} took all {his} savings and went to the market. There it was: {a_o}!
¶For days {h} worked on a present. It was {a_o}, and {he} made it {himself}.
""", """
But on the way {h} stumbled, and {the_o} fell into the mud. {He} {sad}.
But then {he} met {g}, who was crying, because {ghis} {o_noun} was lost. {h} {think}. Then {he} gave {ghim} {the_o}.
But the wind [was wild|blew hard], and it carried the wrapping away. {h} {sad}. Now {the_o} did not look like a \
present at all.
But when {he} saw the present of {g}, {his} own {o_adj_noun} looked small and plain. {He} wanted to turn back.
""", """
¶"I have no fine present for you," said {h} at the door of {f}. {He} told {fhim} the whole story.
¶{h} came to the party last of all. "I am sorry," {he} said. "It was meant to be better."
¶{h} stood at the door and did not dare to knock. Then {f} opened it. "There you are! I waited for you."
""", """
{F} {fglad}. "You thought of {a_o} for me? That is the nicest present of all."
"I do not need a perfect present," said {f}. "I need a friend like you."
{F} hugged {him}. "{A_o} from you is better than gold from anyone else," {fhe} said.
"You came," said {f}, "and that is what I wished for."
""", """
¶They ate {dish} and danced until midnight.
¶Then everyone sang for {f}, and {h} sang loudest of all.
¶Together they [washed|mended|found|wrapped] {the_o} again, and it was as good as new. {end_friend}
¶{F} blew out the candles. Nobody knew what {fhe} wished for, but {fhe} looked at {h} and smiled.
""", """
{keep}
And {h} learned that a present is not what you hold in your hands. {good_night}
{end_friend}
And every year on that day, they told the story of {the_o}.
"""]

JOURNEY = ["OPEN", """
{h} had a dream: {he} wanted to {goal}.
All {his} life, {h} had wanted to {goal}.
"What would you like best in the whole world?" asked {g}. "To {goal}," said {h}.
{h} often lay awake at night, because {he} wanted to {goal}.
""", """
¶{Day} {he} packed some {food} [in a small bag|and a warm blanket] and set off.
¶{Day} {h} said, "If I do not go today, I never will." And {he} {mv} off.
¶"It is too far," said {g}. "[We shall see|I will take small steps]," said {h}, and {day_lower} {he} set off.
""", """
The way was long. {He} {mv} over [hills|fields|stones] and under [bridges|old trees|the hot sun], until {he} was very \
tired.
On the first day it rained. On the second day {h} lost the path. On the third day {he} met {a_f}.
After a while {he} came to a wide river. There was no bridge. {h} {sad}.
{He} asked a [bird|snail|cloud] for the way, and it pointed to the north.
""", """
¶"Where are you going?" asked {a_f}. "I want to {goal}," said {h}. "May I come along?" asked {f}.
¶Then {he} met {a_f}, who was stuck in the mud. {h} pulled {fhim} out. "I know the way," said {f}. "Follow me!"
¶"I will help you," said {f}, "if you tell me a story." So {h} told one, and {f} showed {him} the way.
""", """
Together they [crossed a shaky bridge|climbed over a wall of rocks|sailed on a log|walked through the fog], and nobody \
gave up.
They shared {food} and sang songs. With a friend, the way was only half as long.
When {h} was tired, {f} sang. When {f} was tired, {h} sang.
At night they slept under a tree, back to back, to keep warm.
""", """
¶And then, one morning, it happened at last: {h} could {goal}! {He} {glad}.
¶"Look!" cried {f}. And {h} looked. {He} had wanted to {goal}, and now it was true. {He} had no words.
¶At last {h} could {goal}. It was even more beautiful than {he} had dreamed.
""", """
They stayed [for three days|until the sun went down|a whole week]. Then {h} said, "Now I want to go home and tell \
everyone."
"What do you want now?" asked {f}. "To go home," said {h}, "and to remember."
"Was it worth it?" asked {f}. "Every step," said {h}.
When {he} came home, {everybody} wanted to hear the story, and {h} told it again and again.
""", """
{end_friend}
{good_night}
And who knows where the two of them will go next?
And above {his} bed {h} hung a picture: two friends on a long, long road.
"""]

QUARREL = ["OPEN", """
{His} best friend was {a_f}. They did everything together.
Next door lived {a_f}, and the two of them were friends.
{h} and {f} were never apart.
""", """
¶{Day} they found {a_o} {spot}. "I saw it first!" said {h}. "No, I did!" said {f}.
¶But {day_lower} they both wanted the same thing: {a_o}. "It is mine!" cried {h}. "No, mine!" cried {f}.
¶{Day} {f} borrowed {his} {o_adj_noun} without asking. {h} was very angry.
¶{Day} the two found {a_o}. Each of them wanted to keep it.
""", """
They pulled and shouted. {h} pulled to the left, {f} pulled to the right, and [plop|crash|bump], both of them fell down.
"You are not my friend any more," said {h}. "Good," said {f}. And each of them went home alone.
They shouted so loudly that the birds flew away. In the end, {the_o} fell into the mud.
They did not talk for a whole day. It was a very long day.
""", """
¶At home {h} looked out of the window. {He} was still angry, but most of all {he} was sad.
¶{h} wanted to play, but with whom? {He} {sad}.
¶{G} shook {ghis} head. "Which is better?" {ghe} asked. "{A_o} without a friend, or a friend without {a_o}?"
¶That evening {h} made {dish}. It was far too much for one.
""", """
So {h} took {the_o} and {mv} to {f}. And whom did {he} meet half way? {F}, who was coming to {him}.
{h} {think}. Then {he} went over and knocked. "I am sorry," said {h}. "I am sorry too," said {f}.
"I am sorry," they both said at the same time. And then they had to laugh.
In the morning a note lay at {his} door. "I miss you," it said. {h} ran all the way to the house of {f}.
""", """
¶"You can have {the_o}," said {h}. "No, you," said {f}. In the end they [shared it|took turns|gave it to {g}].
¶"It shall be yours on Mondays and mine on Tuesdays," said {f}. "And on Sundays we use it together," said {h}.
¶They cleaned {the_o} together and put it where both could see it.
""", """
{keep} And nobody ever asked again who had seen it first.
{end_friend}
Ever after, when they began to quarrel, one of them only had to say, "{O_adj_noun}!" and both began to laugh.
{good_night} And {the_o} did not matter at all.
"""]

MYSTERY = ["OPEN", """
¶{Day} something strange happened. {strange}
¶Then, {day_lower} {h} noticed something. {strange}
¶{Day} {h} came home and stood still. {strange}
""", """
The next day it happened again. "Who can it be?" asked {h}. {He} {think}.
"I did not do it," said {g}. "Maybe it was a ghost!" {h} did not believe in ghosts. Well, not very much.
{h} asked {g}, but {g} did not know anything. "I will find out," said {h}.
"This is a riddle," said {h}, "and I like riddles."
""", """
¶That night {h} did not go to bed. {He} hid [behind the door|under a blanket|behind a barrel] and waited.
¶So {h} put [flour|sand|ashes] on the floor. In the morning there were tiny footprints. {He} followed them.
¶{h} tied a little bell to the door and waited in the dark. The clock struck ten. The clock struck eleven.
""", """
Then, at midnight, {he} heard it: [tap, tap, tap|scratch, scratch|a very small sneeze]. {h} lit a candle, and there \
stood {a_f}!
Something moved! {h} jumped up. "Got you!" {he} cried. But it was only {a_f}.
There, in the corner, sat {a_f} and blinked in the light.
""", """
"Please do not be angry," said {f}. "{excuse}"
"Oh!" said {f}. "I am so sorry. {excuse}"
{F} {fsad} and whispered, "{excuse}"
""", """
¶{h} was not angry at all. "Why did you not ask?" {he} said. "[There is enough for two|I would have helped you|Sit \
down with me]."
¶{h} began to laugh. "And I thought that you were a ghost!" {he} said.
¶"Next time, come in by the front door," said {h}, "and come for supper."
""", "END_FRIEND"]

RACE = ["OPEN", """
¶Every year there was a great [race|contest] {place_at}, and the prize was {a_o}.
¶{Day} a sign hung on a tree: "Big race on Sunday! The winner gets {a_o}."
¶"There will be a race tomorrow," said {g}, "and the prize is {a_o}."
""", """
{h} wanted to win {the_o} very much. But {f} was the fastest of all.
"You will never win," said {f}. "You are too slow." {h} said nothing, but {he} decided to try.
{h} practised every morning. {F} only laughed and went back to sleep.
""", """
¶"Ready, steady, go!" called {g}. {F} was gone like the wind. {h} {mv} as fast as {he} could.
¶On the day of the race everyone came to watch. {G} waved a flag, and off they went.
¶The race began. {F} was far ahead, and {h} was last. But {he} did not stop.
""", """
At the bridge {h} heard a cry. {F} had slipped and hurt {fhis} foot! {h} could have run past. But {he} stopped and \
helped.
Near the end {f} fell into a ditch. The goal was so near! But {h} turned around and pulled {fhim} out.
Half way, {f} lay down to rest and fell asleep. {h} went by, step by step. Then {he} turned back and woke {fhim}. "I \
want \
to win fairly," said {h}.
""", """
¶So they crossed the line together, side by side, and everyone cheered.
¶In the end {g} won. But the loudest cheers were for {h} and {f}.
¶They came in last of all, and still everyone clapped.
""", """
"The prize belongs to {h}," said {f}, and everybody agreed. {h} got {the_o} and {glad}.
{G} gave {the_o} to {h}. "A good heart is faster than quick feet," said {g}.
"Who gets {the_o}?" asked {g}. "Both of us," said {h} and {f}.
""", """
{keep}
{end_friend}
And {f} never laughed at anyone again. {end_friend}
Next year, they both want to run again. But first, {dish} for everyone!
"""]

GROW = ["OPEN", "¶FIND", "WONDER", """
{h} dug a little hole, put {the_o} in and covered it with earth.
"I will plant you," said {h}, and {he} found a sunny place for {the_o}.
"Eat it," said {g}. But {h} shook {his} head and planted {the_o} by the door.
""", """
¶Every day {h} gave it water and [sang to it|told it a story|said good morning to it]. A week went by. Nothing happened.
¶The first day nothing grew. The second day nothing grew. "You must wait," said {f}.
¶{G} laughed. "Nothing will ever come of it!" But {h} watered it day after day.
""", """
Then the winter came, and snow covered everything. {h} waited. And in spring, there was something green!
{h} almost gave up. But one morning, after the rain, a tiny green leaf looked out of the earth.
"Be patient," said {f}. And one morning {h} {mv} out and gave a shout. Two small green leaves!
""", """
¶It grew and grew. Soon it was as tall as {h}, then as tall as the house, and at last it carried {grown}.
¶Day by day it grew taller. In summer it carried {grown}, and everybody came to look.
¶By autumn it was a big tree with {grown}. {h} {glad}.
""", """
Now there was enough for everyone, even for {g}. {good_night}
{h} and {f} sat in its shade and ate {dish}. {end_friend}
"And it all came from {a_o}," said {h}. {end_friend}
And in its fruit {h} found new seeds, and {he} gave one to every child {place_at}.
"""]

EGG = ["OPEN", "¶FIND", "WONDER", """
"You must be cold," said {h}, and {he} wrapped {the_o} in [leaves|moss|{his} scarf|soft grass].
{h} looked around for a mother, but nobody was there. So {he} sat down and kept {the_o} warm.
"I will look after you," {h} whispered to {the_o}.
""", """
¶All night {h} watched over it. {He} sang to it and told it about [the stars|the sea|{food}].
¶{G} laughed. "{a_kind} cannot hatch an egg!" But {h} stayed where {he} was.
¶It rained and it blew, but {h} did not leave {the_o} alone.
""", """
Then, in the morning: crack! {The_o} shook, and out came {a_f_baby}.
On the third day there was a tapping sound. Tap, tap, crack! And there sat {a_f_baby}.
Suddenly {the_o} broke open. Two eyes looked up at {him}. It was {a_f_baby}!
""", """
¶"Mama?" it said. {h} laughed. "No, but I can be your friend."
¶It was hungry, and {h} fed it with {food}. It was tired, and {h} sang it to sleep.
¶It followed {h} wherever {he} went, over the hill and back again.
""", """
A week later, the mother came by. She had looked everywhere. She cried for joy and thanked {h} a hundred times.
Soon it grew bigger than {h} {himself}, but it still liked to sit beside {him} in the evening.
In autumn it had to go. "I will come back in spring," it said. And in spring, it did.
""", """
{good_night}
And {h} kept a little piece of {the_o} to remember it by.
{h} was never lonely again.
"It began with {a_o}," {h} liked to say, "and it ended with a friend."
"""]

SLEEP = ["OPEN", """
¶One night {h} could not sleep. {He} turned to the left. {He} turned to the right. {He} counted [sheep|stars|backwards].
¶It was late, and the moon was high, but {h} was wide awake.
¶Every animal was asleep, only {h} was not. {He} {think}.
""", """
{He} {mv} to {g}. "What do you do when you cannot sleep?" {he} asked. "I {gsleep}," said {g}.
So {he} got up and asked {g}. "[Try it with warm milk|Just close your eyes|Count backwards]," said {g} and yawned.
""", """
{h} tried it. It did not help. {He} was still awake.
{h} tried, but {he} only had to giggle.
That did not work at all. Now {he} was even more awake than before.
""", """
¶Then {he} saw a light. {A_f} was awake too. "Can you not sleep either?" asked {f}.
¶Outside {he} met {a_f}, who was looking at the stars. "Sit down with me," said {f}.
¶"Who is there?" asked a soft voice. It was {a_f}. "I cannot sleep," said {h}. "Nor can I," said {f}.
""", """
They sat side by side and listened to the night. The wind hummed. The water murmured. Far away an owl called.
{F} began to tell a story about [a cloud that was afraid to rain|the smallest star of all|a boat that sailed to the \
moon].
"Let us list everything that was nice today," said {f}. "{Food}," said {h}. "The warm sun," said {f}. "And you," said \
{h}.
""", """
¶{h} wanted to say something, but {he} was already asleep. {F} smiled and covered {him} with a leaf.
¶First {f} yawned. Then {h} yawned. And before the story was over, both of them were fast asleep.
¶{His} eyes grew heavy. {h} {mv} back to {his} {home_short}, lay down, and slept until the sun came up.
""", """
And the moon watched over them both.
Good night, little {kind}. Good night, {fkind}. Good night, everyone.
And now it is time for you to sleep too.
And if you cannot sleep one night, think of {h} and {f} under the stars.
"""]

FAVOUR = ["OPEN", """
¶{Day} {h} heard a tiny voice. "Help me!" {A_f} was [caught in a net|stuck under a branch|lying on {fhis} back].
¶{Day} {h} found {a_f} who was [stuck in the mud|caught in the thorns|shut in a box].
¶{Day} {a_f} fell into the water right in front of {h}.
""", """
{h} did not think twice. {He} helped {fhim} out, gave {fhim} some {food} and let {fhim} rest.
"Wait, I am coming," said {h}. It took a long time, but at last {f} was free.
{G} had walked right past. But {h} stopped and helped.
""", """
¶"Thank you," said {f}. "One day I will help you too." {h} smiled. "How could {a_fkind} help me?" {he} thought.
¶"I will not forget this," said {f}, and {fhe} was gone.
¶"You are kind," said {f}. "I hope that I can do the same for you."
""", """
¶Weeks went by, and {h} forgot all about it. Then {favour_trouble}
¶The summer passed and winter came. One day {favour_trouble}
¶Not long after that, {favour_trouble}
""", """
"Help!" cried {h}. And who came? It was {f}! {favour_help}
{h} {sad}. Then {he} heard a voice {he} knew. It was {f}. "{My_turn}," {fhe} said. {favour_help}
Nobody heard {him}, nobody but {f}. {favour_help}
""", """
¶"You remembered," said {h}. "Of course," said {f}. "Kindness comes back."
¶"Now I know how {a_fkind} can help {a_kind_l}," said {h}, and both of them laughed.
¶"Thank you, thank you!" cried {h} and {glad}.
""", "END_FRIEND"]

LETTER = ["OPEN", "¶FIND", """
There were some words on it. "To whoever finds this," {h} read. "{message}"
{h} read it slowly, letter by letter. "{message}" That was all.
On the back somebody had written: "{message}" {h} read it three times.
""", """
{h} {think}. "Somebody needs me," {he} said.
"This is meant for me," said {h}, "because I found it."
"What shall I do?" {he} asked {g}. "Go," said {g}. "A message like that must not wait."
""", """
¶So {h} set off. {He} {mv} all day long, [over the hills|along the water|past the old mill].
¶The way was long, and twice {h} got lost. But {he} held {the_o} tight and went on.
¶{He} asked everyone on the way, and everyone pointed to the little house at the end of the road.
""", """
There sat {a_f}, all alone by the window. "Did you write this?" asked {h}, and {he} held up {the_o}.
And there was {a_f}. When {fhe} saw {the_o}, {fhe} {fglad}. "Somebody found it!" {fhe} cried.
A small door opened, and {a_f} looked out. "You came," said {f}. "You really came."
""", """
¶They drank tea and talked until it was dark.
¶"I had almost stopped hoping," said {f}. "And I have never been so glad to find something," said {h}.
¶{h} stayed for three days, and {f} told {him} everything.
""", """
{keep} {end_friend}
{end_friend} And now, every Sunday, each of them writes a letter to the other.
And all that because of {a_o}. {end_friend}
"""]

CANNOT = ["OPEN", """
But there was a problem: {h} could not {gift}. Every other {kind} could do it.
Every {kind} can {gift}. But {h} could not.
{h} was {a_kind_l} like any other, except for one thing: {he} could not {gift}.
""", """
¶The others [laughed|giggled]. "What kind of {kind} cannot {gift}?" they asked. {h} {sad}.
¶{He} had tried it a hundred times. {fail}
¶{He} tried it in the morning and in the evening. {fail}
""", """
{Day} {he} went for a long walk, and there {he} met {a_f}. "Why are you so sad?" asked {f}.
{Day} {h} met {a_f}. "I cannot {gift}," said {h}. "So what?" said {f}. "I cannot either."
"Maybe I am no real {kind}," {h} said to {f}.
""", """
¶"What can you do, then?" asked {f}. {h} {think}. "I can [tell stories|make {dish}|listen well|whistle]," {he} said.
¶"Everyone has something else," said {f}. "You only have to find out what it is."
¶"Come with me," said {f}, "and do not think about it for one day."
""", """
That very night there was trouble. A little one was lost in the [fog|dark|snow]. All the others ran here and there. \
But {h} \
sat down and listened. "I hear it," {he} said, and {he} found it at once.
So they played all day. {h} laughed and jumped, and suddenly, without thinking, {he} did it. {He} could {gift}!
The next day a storm came up, and everyone was frightened. {h} told them a story, such a good story that they forgot \
the storm.
""", """
¶Now nobody laughed any more. "You are the best {kind} we know," they said.
¶"You see?" said {f}. {h} {glad}.
¶"I am just as I should be," said {h}, and that was true.
""", """
{end_friend}
{good_night}
And whether {h} can {gift} today? Nobody asks any more.
"""]

ROLE = ["OPEN", """
{h} wanted to be {a_role}.
"When I am big, I will be {a_role}," said {h}.
{h} had one big dream: {he} wanted to become {a_role}.
{h} did not want to be {a_kind_l} like all the others. {He} wanted to be {a_role}.
""", """
¶"{A_kind} can never be {a_role}," said {g}. {h} {sad}, but {he} did not forget {his} dream.
¶Everyone laughed. "{A_role}? You?" they said. But {h} nodded.
¶{Day} {h} began to learn. {He} read, {he} practised, and {he} asked a thousand questions.
""", """
{He} made {himself} a [hat|coat|badge|sign] and said to the mirror, "Good morning, {role}!" Then {he} {glad}.
{h} found an old book about it and read it from the first page to the last.
Every evening {he} practised behind the house, where nobody could see {him}.
""", """
¶{Day} {a_f} came running. "We need {a_role}!" {fhe} cried. "Is there {a_role} here?" Nobody answered. Then {h} stood \
up.
¶Then, {day_lower} {f} came with a big problem. "Only {a_role} can help me," said {f}.
¶{Day} there was great trouble {place_at}. "If only we had {a_role}!" said {f}.
""", """
"I can do it," said {h}. {His} voice shook a little. And then {he} did {his} very best, and it worked!
"Let me try," said {h}. At first {his} knees shook. But {he} remembered everything that {he} had learned.
{h} took {his} [hat|bag|book] and went to work. It took all day, but in the evening everything was fine.
""", """
¶"You are a real {role}!" said {f}. {h} {glad}.
¶Everybody clapped. Even {g} said, "I was wrong. {A_kind} can be {a_role} after all."
¶"Thank you, {role}," said {f}. It was the nicest word that {h} had ever heard.
""", """
{good_night}
And from that day on, everyone called {him} {role_title}.
And when little ones tell {h} their dreams, {he} never laughs. "Tell me more," {he} says.
{end_friend}
"""]

WISHES = ["OPEN", "¶FIND", """
"Who woke me up?" said a voice from {the_o}. "You have three wishes."
When {h} touched {the_o}, it began to glow. "Three wishes are yours," it said.
There was a puff of smoke. "I will give you three wishes," said {the_o}, "but think well."
""", """
¶First {h} wished for [a mountain|a river|a room full] of {food}. {He} ate and ate until {his} stomach hurt.
¶{h} did not think for long. "I want to be as big as a house!" {he} said. Now {he} did not fit through {his} own door.
¶"I want a palace," said {h}. And there it was. But it was so big and so empty that {h} got lost in it.
""", """
¶"Oh dear," said {h}. "I wish that everything was as before." And so the second wish was gone.
¶"That was silly," said {h}, and {he} used the second wish to put everything right.
""", """
Now there was only one wish left. {h} {think}. Then {he} saw {f}, who was ill and sad.
Only one wish was left. Just then {a_f} came by and cried, because {fhe} had lost {fhis} home in the storm.
{h} looked at {the_o} for a long time. On the path sat {a_f}, alone and hungry.
""", """
"I wish that {f} is happy again," said {h}. {The_o} glowed, and {f} {fglad}.
"My last wish is for {f}," said {h}. A warm wind blew, and {f} began to smile.
""", """
¶"You gave your last wish to me?" said {f}. "Yes," said {h}, "and it is the only one that made me happy."
¶{The_o} stopped glowing. Now it was quite ordinary. But {h} was not sad.
""", """
{end_friend}
{keep} {end_friend}
{good_night} {He} had no wish left, and {he} needed none.
"""]

MAP = ["OPEN", "¶FIND", """
A thin red line ran across it, and at the end there was a cross. "A treasure!" cried {h}.
"[Go past the old mill|Start at the big tree], then over the bridge, then dig," it said. {h} {glad}.
It showed the way to a secret place. {h}'s heart beat faster.
""", """
{He} showed it to {f}. "Let us go together," said {f}.
"I will not go alone," {he} thought, and {he} asked {a_f} to come along.
Just then {a_f} came by. "What do you have there?" asked {f}. So they went together.
""", """
¶They followed {the_o} over the hill and through the [swamp|tall grass|dark wood]. Twice they got lost, and twice they \
laughed.
¶They walked ten steps to the left and twenty to the right. They crossed [a stream|a shaky bridge|a field of thistles].
¶"I am tired," said {f}. "Only a little further," said {h}. "{The_o} says so."
""", """
At last they stood in front of [a big round stone|a crooked tree|an old well]. They dug and dug. There was {treasure}!
Where the cross was, they found a small chest. Inside lay {treasure}.
And there, {lock_spot}, they found it: {treasure}.
""", """
¶"Half for you and half for me," said {h}. {end_friend}
¶"The best part was the way," said {f}, and {h} thought so too. {keep}
¶They laughed and rested, and on the way home they did not need {the_o} any more. {end_friend}
"""]

RAIN = ["OPEN", """
¶It had rained for [three|five|seven] days, and {h} was bored.
¶{Day} {h} had planned a picnic. But then it began to rain.
¶One day it rained so hard that {h} could not go out.
""", """
{h} {sad}. "Stupid rain," {he} said. Then somebody knocked. It was {a_f}, wet from top to toe.
"What shall I do now?" {h} said to {himself}. Then {he} saw {a_f} outside, who was dancing in the puddles.
"There is nothing to do," said {h} to {a_f}, who had come to visit.
""", """
"Nothing to do?" said {f}. "{rain_idea}"
"I like the rain," said {f}. "{rain_idea}"
"I have an idea," said {f}. "{rain_idea}"
""", """
¶And so they did. {h} laughed until {his} stomach hurt.
¶At first {h} did not want to. But then {he} tried it, and it was wonderful.
¶They made such a noise that {g} came to look, and {g} joined in.
""", """
Afterwards they sat by the fire, ate {dish} and listened to the rain.
When they were wet and tired, {h} made {dish}, and everything smelled of summer.
Then the sun came out, and a rainbow stood {place_over}.
""", """
¶"I hope that it rains tomorrow," said {h}.
¶{end_friend}
¶"Stupid rain?" asked {f} and winked. "Lovely rain," said {h}.
¶{good_night} Outside, the rain sang a soft song.
"""]

ANY = {"owner": OWNER, "use": USE, "lost": LOST, "quarrel": QUARREL, "gift": GIFT, "race": RACE, "share": SHARE}
# Plots about an object, by its kind: those that suit every kind, and those of its own with their weights.
SPECIAL = {"key": [(LOCK, 6)], "seed": [(GROW, 8)], "egg": [(EGG, 8)], "wand": [(WISHES, 6)], "paper": [(LETTER, 3)]}
SPECIAL_NOUN = {"map": [(MAP, 9)], "scroll": [(MAP, 2)], "letter": [(LETTER, 6)], "note": [(LETTER, 6)],
                "postcard": [(LETTER, 6)]}
FIND_PLOTS = [(OWNER, 3), (USE, 5)]
# Plots without an object, and what a request can say about each.
FREE = {"learn": LEARN, "fear": FEAR, "friend": FRIEND, "journey": JOURNEY, "mystery": MYSTERY, "sleep": SLEEP,
        "favour": FAVOUR, "cannot": CANNOT, "role": ROLE, "rain": RAIN}
