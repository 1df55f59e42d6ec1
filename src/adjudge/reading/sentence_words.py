"""The words that the sentence splitter knows, English and Russian. The alphabets differ, so one set serves both."""

from __future__ import annotations

import re

# Abbreviations that a name or another word follows: their full stop never ends a sentence.
LEADING = frozenset(
    """
    mr mrs ms mx dr prof rev hon st sr gen col lt sgt capt cmdr adm maj pres gov sen rep messrs mme mlle fr supt
    e.g i.e eg ie cf viz vs v ca approx al resp incl excl esp mt ft
    г-н г-жа гг им ул пр просп пер бул наб пл дер пос обл р-н респ акад проф доц тов св преп о-в
    т.е т.н т.к т.о напр ср см англ нем фр лат греч рус итал исп букв устар разг кит яп
    """.split()
)
# Abbreviations that a number follows; before a word their full stop may end a sentence.
BEFORE_NUMBERS = frozenset(
    """
    no nos p pp fig figs vol vols ch chap sec sect art arts eq eqs ex par para col app ver v tab ed op
    рис табл с стр п пп гл ст ч т тт разд прил кв корп стр д оф илл подп абз
    """.split()
)
# Abbreviations that stand at the end of a sentence as often as inside one.
TRAILING = frozenset(
    """
    inc ltd co corp llc plc bros jr etc esq ph.d m.d b.a m.a b.sc m.sc d.c u.s u.k u.n e.u u.s.a a.m p.m a.d b.c b.c.e c.e
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun dept est univ assn ave blvd rd
    hr hrs min mins sec secs yr yrs lb lbs oz
    т.д т.п др пр проч г гг в вв н.э до н.э руб коп тыс млн млрд трлн чел экз шт мин сек час кг см мм км кв куб
    янв февр мар апр июн июл авг сент окт нояб дек пн вт ср чт пт сб вс род ум тел факс и.о
    """.split()
)
# Units: after a number, a capital letter begins a new sentence.
UNITS = frozenset(
    "руб коп чел экз шт мин сек час кг см мм км га hr hrs min mins sec secs yr yrs lb lbs oz ft kg cm mm km".split()
)
# Words that begin a sentence and are no names: after one of TRAILING or an initial they tell where the next one starts.
STARTERS = frozenset(
    """
    the a an this that these those it its he she they we you i his her their our my your there here in on at by for from with
    without as if when while where what who why how but and or so yet however then thus also after before since although because
    both each every some many most all no not such another other once during until unless to of is are was were do does did can
    could will would should may might must please note according despite though first second third finally meanwhile today
    yesterday tomorrow see one two three
    он она оно они мы вы ты я это эта этот эти то тот та те его её ее их наш наша наши ваш мой в во на за из с со к ко по о об от
    до при для без под над через между после перед а и но или да не ни если когда пока хотя так тогда там тут здесь где как
    кто что чей какой который сколько почему потому поэтому однако также тоже затем потом кроме согласно сегодня вчера завтра
    например все всё весь вся каждый некоторые многие другие другой один одна два три первый второй сейчас теперь уже ещё еще
    лишь только именно было была был были есть будет можно нужно обратите
    """.split()
)

_OPENING_WORDS = r"""
    (?:(?:well|ok|okay|sure|yes|great|hi|hello)[,!.]?\s+)?
"""
# Said to be polite, about the conversation and not about the subject.
COURTESY = re.compile(
    rf"""^{_OPENING_WORDS}(?:
        (?:hi|hello|hey|greetings|welcome)(?:\s+(?:there|again|everyone|all|to\s+.{{1,40}}|[A-Z]\w+))?
      | good\s+(?:morning|afternoon|evening|day|question|luck)(?:\s*,?\s*\w+){{0,2}}
      | dear\s+\w+(?:\s+\w+){{0,2}}
      | (?:many\s+)?thank(?:s|\s+you)\b.{{0,90}}
      | (?:you['’]re|you\s+are)\s+(?:very\s+|most\s+)?welcome.{{0,30}}
      | (?:that['’]s\s+an?\s+|what\s+an?\s+)?(?:great|good|excellent|interesting)\s+question
      | (?:sure|certainly|of\s+course|absolutely|gladly|no\s+problem|okay|ok|got\s+it|understood|my\s+pleasure|congratulations)(?:\s+thing)?
      | (?:sure|certainly|of\s+course|absolutely|okay|ok)?[,!.]?\s*(?:here(?:['’]s|\s+is|\s+are)|below\s+(?:is|are))\s+.{{1,80}}:
      | (?:i['’]m|i\s+am|i['’]d\s+be|i\s+would\s+be|we['’]re|we\s+are|we['’]d\s+be)\s+(?:always\s+|more\s+than\s+)?(?:happy|glad|here|delighted|pleased)\s+to\s+(?:help|assist|answer|hear)\b.{{0,60}}
      | (?:i|we)\s+(?:hope|trust)\s+(?:this|that|it|you|these)\b.{{0,80}}
      | hope\s+(?:this|that|it)\s+(?:helps|clarifies|answers).{{0,30}}
      | (?:please\s+)?let\s+(?:me|us)\s+know\b.{{0,120}}
      | (?:please\s+)?(?:do\s+not|don['’]t)\s+hesitate\s+to\b.{{0,100}}
      | (?:please\s+)?feel\s+free\s+to\s+(?:ask|reach|contact|let)\b.{{0,100}}
      | if\s+you\s+(?:have|need|would\s+like|want)\s+(?:any\s+|more\s+|further\s+|other\s+|additional\s+|specific\s+)*(?:questions?|help|information|details|assistance|clarification)\b.{{0,120}}
      | (?:best|kind|warm)\s+(?:regards|wishes) | sincerely(?:\s+yours)? | cheers | (?:good)?bye | see\s+you(?:\s+\w+){{0,2}}
      | have\s+a\s+(?:\w+\s+)?(?:day|weekend|evening|trip|one)
      | (?:здравствуй(?:те)?|привет(?:ствую)?|доброе\s+утро|добрый\s+(?:день|вечер)|доброго\s+(?:дня|времени\s+суток)|добро\s+пожаловать)(?:\s*,?\s*\w+){{0,4}}
      | (?:большое\s+)?спасибо\b.{{0,90}} | благодар(?:ю|им)\b.{{0,90}} | пожалуйста | не\s+за\s+что
      | уважаем(?:ый|ая|ые)\s+\w+(?:\s+\w+){{0,3}}
      | (?:хороший|отличный|интересный)\s+вопрос | конечно(?:\s+же)? | разумеется | безусловно | хорошо | понятно | понял[аи]? | ладно
      | (?:конечно|хорошо|да)?[,!.]?\s*вот\s+.{{1,80}}:
      | (?:я\s+|мы\s+)?(?:всегда\s+)?(?:буд(?:у|ем)\s+)?рад[аы]?\s+(?:вам\s+|тебе\s+)?(?:помочь|ответить|видеть|быть\s+полезн\w+)\b.{{0,60}}
      | (?:я\s+|мы\s+)?надею?(?:сь|мся)\b[,\s]+(?:что\s+)?(?:это|эта|ответ|мой|вы|вам|данная|информация)\b.{{0,80}}
      | (?:пожалуйста,?\s+)?(?:обращайтесь|пишите|спрашивайте|дайте\s+знать|сообщите(?:\s+мне|\s+нам)?)\b.{{0,100}}
      | если\s+(?:у\s+вас|у\s+тебя|вам|тебе)\s+(?:есть|остались|возникнут|появятся|будут|нужн\w+|понадоб\w+|потребу\w+|ещё|еще)\b.{{0,140}}
      | с\s+уважением.{{0,40}} | всего\s+(?:доброго|хорошего|наилучшего) | до\s+(?:свидания|встречи)
      | хорошего\s+(?:вам\s+)?(?:дня|вечера|настроения) | удачи(?:\s+вам)? | поздравля(?:ю|ем)
    )[\s.!…)☺:,-]*$""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)

_I_EN = r"(?:i|we)(?:['’]m|['’]re|\s+am|\s+are)?"
_CANNOT = r"(?:can(?:not|['’]t|\s+not)|could\s*n[o'’]t|could\s+not|(?:am|are|['’]m|['’]re)?\s*(?:not\s+able|unable)\s+to|wo(?:n['’]t)|will\s+not)"
_SOURCES_EN = (
    r"(?:(?:the|these|any\s+of\s+the)\s+)?(?:provided|given|available|supplied|retrieved)?\s*"
    r"(?:contexts?|fragments?|documents?|sources?|passages?|texts?|information|materials?|excerpts?|search\s+results)(?:\s+(?:provided|given|above))?"
)
_SOURCES_RU = (
    r"(?:(?:предоставленн|приведённ|приведенн|имеющ|доступн|данн|эт)\w+\s+)?"
    r"(?:контекст|фрагмент|документ|источник|текст|материал|отрывк|информаци)\w*"
)
# Says that there is no answer, or that none will be given.
REFUSAL = re.compile(
    rf"""(?:
        ^(?:(?:i['’]m\s+|i\s+am\s+|we['’]re\s+|we\s+are\s+)?(?:very\s+|so\s+)?sorry|unfortunately|i\s+apologi[sz]e|apologies|my\s+apologies)?
         [,.]?\s*(?:but\s+)?(?:that\s+)?{_I_EN}\s*{_CANNOT}\s+(?:\w+ly\s+)?
         (?:help|assist|answer|provide|give|do|discuss|comply|fulfil?l?|share|find|offer|determine|say|tell|support|verify|confirm|engage|create|write|respond|recommend|continue|access|browse|see)\b
      | ^(?:(?:i['’]m\s+|i\s+am\s+)?sorry|unfortunately)?[,.]?\s*(?:but\s+)?(?:i|we)\s+(?:do\s+not|don['’]t|did\s+not|didn['’]t)\s+
         (?:currently\s+)?(?:know|have|find|see)\b
      | ^(?:i['’]m|i\s+am|we['’]re|we\s+are)\s+(?:very\s+|so\s+)?sorry\b(?!,?\s*(?:but|that))
      | ^(?:i|we)\s+(?:must\s+|have\s+to\s+)?(?:decline|refuse)\b
      | ^as\s+an?\s+(?:ai|language\s+model|assistant)\b.{{0,60}}(?:cannot|can['’]t|do\s+not|don['’]t|not\s+able|unable)
      | ^(?:unfortunately[,]?\s+)?{_SOURCES_EN}\s+(?:do(?:es)?\s*n[o'’]t|do(?:es)?\s+not|did\s*n[o'’]t|did\s+not|lacks?\b)\s*
         (?:explicitly\s+|specifically\s+|directly\s+)?(?:contain|mention|include|provide|specify|say|state|give|answer|discuss|cover|address|address|any|the|information)
      | ^(?:unfortunately[,]?\s+)?there\s+(?:is|was|are)\s+(?:no|not\s+enough|insufficient)\s+(?:\w+\s+){{0,2}}(?:information|mention|details?|answer|data)\b
      | ^(?:(?:this|that|it)\s+is\s+)?not\s+(?:mentioned|specified|stated|found|given)\s+in\s+{_SOURCES_EN}
      | ^(?:sorry|i\s+apologi[sz]e|apologies|my\s+apologies|i['’]m\s+sorry)(?:\s+(?:about\s+that|for\s+(?:the|any)\s+\w+))?\W*$
      | ^(?:к\s+сожалению|извин\w+|прости\w*|увы)?[,.]?\s*(?:но\s+)?(?:я\s+|мы\s+)?не\s+(?:мо(?:гу|жем)|смо(?:гу|жем)|буд(?:у|ем)|уме(?:ю|ем)|впра?ве|в\s+состоянии)\s+
         (?:\w+\s+)?(?:помо\w+|ответ\w+|отвеча\w+|предостав\w+|дать|сказать|выполн\w+|обсужд\w+|найти|подтверд\w+|рассказ\w+|советова\w+|рекоменд\w+|поддерж\w+|продолж\w+|создава\w+|определ\w+|назвать|сообщ\w+|провер\w+)
      | ^(?:к\s+сожалению|извин\w+|прости\w*|увы)?[,.]?\s*(?:но\s+)?(?:я|мы)\s+не\s+(?:зна(?:ю|ем)|располага(?:ю|ем)|наш[её]л|нашла|нашли|облада(?:ю|ем)|име(?:ю|ем))\b
      | ^(?:к\s+сожалению|извин\w+|прости\w*|увы)?[,.]?\s*(?:но\s+)?у\s+(?:меня|нас)\s+нет\s+(?:\w+\s+){{0,3}}(?:информаци\w+|данных|сведений|доступа|ответа|возможности)
      | ^(?:к\s+сожалению[,]?\s+)?(?:в|во)\s+{_SOURCES_RU}\s*(?:\w+\s+){{0,2}}(?:нет|не\s+(?:содерж\w+|указан\w*|упомина\w+|упомянут\w*|говор\w+|сказан\w*|привод\w+|хватает|най\w+))
      | ^(?:к\s+сожалению[,]?\s+)?{_SOURCES_RU}\s+не\s+(?:содерж\w+|упомина\w+|указыва\w+|сообща\w+|да[её]т|дают|включа\w+)
      | ^(?:как\s+(?:языковая\s+модель|ии|искусственный\s+интеллект)|я\s+(?:языковая\s+модель|всего\s+лишь)).{{0,60}}\bне\b
      | ^(?:извините|простите|прошу\s+прощения|приношу\s+извинения)(?:\s+за\s+\w+(?:\s+\w+)?)?\W*$
    )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
# After a refusal, one of these and a few words more make it a claim again: "I do not know the price, but it costs less than 5 euros."
TURN = re.compile(
    r"[,;:.—-]\s*(?:but|however|although|though|yet|но|однако|хотя|зато|а)\s+"
    r"(?!(?:i|we|you|please|if|feel|я|мы|вы|могу|можем|пожалуйста)\b)(?:\S+\s+){2}\S+",
    re.IGNORECASE,
)
